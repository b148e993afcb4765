package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"skerry.dev/skerry/testenv/cgroup"
	"skerry.dev/skerry/testenv/netns"
)

// Down takes a cluster down and leaves nothing of it: no process, namespace,
// mount, cgroup, network device or file.
func (s State) Down(ctx context.Context, name string) error {
	if _, err := s.Get(name); err != nil {
		return err
	}
	lock, err := s.lock(ctx, "cluster-"+name)
	if err != nil {
		return err
	}
	defer lock.Release()
	c, err := s.Get(name)
	if err != nil {
		return err
	}
	if err := c.remove(ctx); err != nil {
		return fmt.Errorf("take down cluster %s: %w", name, err)
	}
	return lock.Remove()
}

// remove undoes everything that Up may have done. Each step accepts that there
// is nothing to undo.
func (c *Cluster) remove(ctx context.Context) error {
	if err := c.processes().KillAll(); err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		// Only root can have made these, and a cluster of which only the name
		// is known may have been a real one.
		if err := errors.Join(cgroup.Remove(ctx, c.unique()), netns.Remove(ctx, c.unique()), c.leavePlace(ctx)); err != nil {
			return err
		}
	}
	return removeAll(ctx, c.dir)
}

// removeAll removes a directory in which mounts of a dead namespace may linger
// for a moment: the kernel undoes them after the last process has ended.
func removeAll(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		err := os.RemoveAll(dir)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// logs returns the end of each log as an error, for a cluster that did not come
// up and whose files are about to go.
func (c *Cluster) logs() error {
	const lines = 8
	files, err := filepath.Glob(c.path("log", "*.log"))
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		all := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
		for _, line := range all[max(0, len(all)-lines):] {
			fmt.Fprintf(&text, "%s: %s\n", filepath.Base(file), line)
		}
	}
	if text.Len() == 0 {
		return nil
	}
	return errors.New("the ends of its logs:\n" + text.String())
}
