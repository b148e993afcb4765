package share

import (
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// memoryLimit is what the machine has, or the least limit of the control groups.
func memoryLimit() int64 {
	least := int64(unlimited)
	var machine syscall.Sysinfo_t
	if err := syscall.Sysinfo(&machine); err == nil {
		least = int64(machine.Totalram) * int64(machine.Unit)
	}
	return min(least, groupLimit("/sys/fs/cgroup", "/proc/self/cgroup"))
}

// groupLimit is the least memory.max of the control group that a file names and of those above it, as
// far as the mount shows them (cgroup v2).
func groupLimit(mount, self string) int64 {
	least := int64(unlimited)
	text, err := os.ReadFile(self)
	if err != nil {
		return least
	}
	for line := range strings.Lines(string(text)) {
		group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !ok {
			continue
		}
		for group = path.Clean("/" + group); ; group = path.Dir(group) {
			limit, err := os.ReadFile(filepath.Join(mount, group, "memory.max"))
			if n, bad := strconv.ParseInt(strings.TrimSpace(string(limit)), 10, 64); err == nil && bad == nil {
				least = min(least, n) // "max" is no number
			}
			if group == "/" {
				break
			}
		}
	}
	return least
}
