// Package cgroup makes and removes the control group in which a real cluster's
// pods run: one directory per hierarchy for cgroup v1, one for v2. The kubelet
// makes what is below it. The cluster and node packages import it.
package cgroup

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// hierarchy is a mounted hierarchy.
type hierarchy struct {
	dir string
	v2  bool
	// controllers are the v1 controllers of the mount.
	controllers []string
}

// Create makes a group of this name in every hierarchy, ready for processes and
// for groups below it.
func Create(name string) error {
	all, err := mounted()
	if err != nil {
		return err
	}
	for _, h := range inUse(all) {
		if err := h.create(name); err != nil {
			return fmt.Errorf("create cgroup in %s: %w", h.dir, err)
		}
	}
	return nil
}

func (h hierarchy) create(name string) error {
	dir := filepath.Join(h.dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if h.v2 {
		return errors.Join(delegate(h.dir), delegate(dir))
	}
	if !slices.Contains(h.controllers, "cpuset") {
		return nil
	}
	// A v1 cpuset has no processors and no memory until they are written.
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(h.dir, file))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, file), value, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// delegate enables every available v2 controller for the groups below dir.
func delegate(dir string) error {
	available, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return err
	}
	var enable []string
	for _, c := range strings.Fields(string(available)) {
		enable = append(enable, "+"+c)
	}
	if len(enable) == 0 {
		return nil
	}
	return os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte(strings.Join(enable, " ")), 0o644)
}

// Remove removes the group and all below it from every hierarchy, killing what
// still runs in them. A group of a process that is just ending is busy for a
// moment.
func Remove(ctx context.Context, name string) error {
	all, err := mounted()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for _, h := range all {
		dir := filepath.Join(h.dir, name)
		for {
			err := removeTree(dir)
			if err == nil {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("remove cgroup %s: %w", dir, err)
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	return nil
}

func removeTree(dir string) error {
	var dirs []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	for _, d := range slices.Backward(dirs) {
		if rmdir := unix.Rmdir(d); rmdir != nil && !errors.Is(rmdir, unix.ENOENT) {
			err = errors.Join(err, killMembers(d), fmt.Errorf("rmdir %s: %w", d, rmdir))
		}
	}
	return err
}

// killMembers kills the processes of a group. Only pods of the group's own
// cluster are ever in it.
func killMembers(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil // it has gone meanwhile
	}
	var errs []error
	for line := range strings.Lines(string(data)) {
		var pid int
		if _, err := fmt.Sscan(line, &pid); err != nil || pid <= 0 {
			continue // 0 is a process outside this pid namespace
		}
		if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// inUse returns the hierarchies that control anything: all of v1 where a v1
// controller is mounted, else v2. With both mounted, v2 has no controllers; runc
// makes groups there all the same, so Remove looks at all.
func inUse(all []hierarchy) []hierarchy {
	var v1 []hierarchy
	for _, h := range all {
		if !h.v2 {
			v1 = append(v1, h)
		}
	}
	if len(v1) > 0 {
		return v1
	}
	return all
}

// mounted returns the mounted hierarchies, of which there must be one.
func mounted() ([]hierarchy, error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	all, err := parse(data)
	if err == nil && len(all) == 0 {
		err = errors.New("no cgroup hierarchy is mounted below /sys/fs/cgroup")
	}
	return all, err
}

func parse(mountinfo []byte) ([]hierarchy, error) {
	var all []hierarchy
	seen := map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(mountinfo))
	for lines.Scan() {
		mount, filesystem, ok := strings.Cut(lines.Text(), " - ")
		left, right := strings.Fields(mount), strings.Fields(filesystem)
		if !ok || len(left) < 5 || len(right) < 3 || !strings.HasPrefix(left[4], "/sys/fs/cgroup") || seen[left[4]] {
			continue
		}
		seen[left[4]] = true
		switch right[0] {
		case "cgroup":
			all = append(all, hierarchy{dir: left[4], controllers: strings.Split(right[2], ",")})
		case "cgroup2":
			all = append(all, hierarchy{dir: left[4], v2: true})
		}
	}
	return all, lines.Err()
}
