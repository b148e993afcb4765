package boottime

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Now returns how long ago the machine was started, the time in suspend included.
func Now() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return time.Since(started) // a kernel before 2.6.39
	}
	return time.Duration(ts.Nano())
}

// ID names this boot of the machine. It is empty when the kernel does not say.
func ID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
