package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// own are the directories that the node has to itself, under the names that
// they have in its directory.
var own = map[string]string{
	"kubelet":    "/var/lib/kubelet",
	"containerd": "/var/lib/containerd",
	"cni":        "/var/lib/cni",
	"cni-config": "/etc/cni",
	"log":        "/var/log",
}

// sysctls are what the kubelet wants to set for the whole machine. It is shown
// files that already say so, in place of the machine's own.
var sysctls = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// mount makes the node's view of the file system. The mount namespace is the
// process's own, so nothing of it is seen outside and all of it ends with it.
func (s Spec) mount() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	// It is this pid namespace's, and it covers the outer one.
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("/proc: %w", err)
	}
	if err := unix.Mount("tmpfs", "/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return fmt.Errorf("/run: %w", err)
	}
	for _, dir := range []string{"/run/netns", "/run/containerd", "/run/lock"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	for name, target := range own {
		source := filepath.Join(s.Dir, name)
		if err := errors.Join(os.MkdirAll(source, 0o755), os.MkdirAll(target, 0o755)); err != nil {
			return err
		}
		if err := bind(source, target); err != nil {
			return err
		}
	}
	if err := s.showSysctls(); err != nil {
		return err
	}
	// The kubelet's mounts for a pod must reach the pod.
	return unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, "")
}

func (s Spec) showSysctls() error {
	dir := filepath.Join(s.Dir, "sysctl")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, value := range sysctls {
		target := filepath.Join("/proc/sys", name)
		if _, err := os.Stat(target); errors.Is(err, fs.ErrNotExist) {
			continue // a kernel without key quotas
		}
		source := filepath.Join(dir, strings.ReplaceAll(name, "/", "."))
		if err := os.WriteFile(source, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		if err := bind(source, target); err != nil {
			return err
		}
	}
	return nil
}

func bind(source, target string) error {
	if err := unix.Mount(source, target, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind %s to %s: %w", source, target, err)
	}
	return nil
}
