package netns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"skerry.dev/skerry/testenv/process"
)

// KillMembers kills the processes that are in a namespace, if it exists.
func KillMembers(ctx context.Context, name string) error {
	var file unix.Stat_t
	if err := unix.Stat(File(name), &file); err != nil {
		return nil
	}
	output, err := exec.CommandContext(ctx, "ip", "netns", "pids", name).Output()
	if err != nil {
		return nil // an interrupted creation left a file that is no namespace
	}
	var errs []error
	for _, field := range strings.Fields(string(output)) {
		pid, err := strconv.Atoi(field)
		if err != nil || pid == os.Getpid() {
			continue
		}
		errs = append(errs, process.KillIf(pid, func() bool {
			var of unix.Stat_t
			err := unix.Stat(fmt.Sprintf("/proc/%d/ns/net", pid), &of)
			return err == nil && of.Dev == file.Dev && of.Ino == file.Ino
		}))
	}
	return errors.Join(errs...)
}
