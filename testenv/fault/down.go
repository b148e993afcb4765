package fault

import (
	"context"
	"errors"
	"fmt"
	"os"

	"skerry.dev/skerry/testenv/netns"
)

// Down removes a network. Processes that still run in its hosts are killed:
// they are found by the namespace that they are in.
func (s Nets) Down(ctx context.Context, name string) error {
	if _, err := s.Get(name); err != nil {
		return err
	}
	lock, err := s.lock(ctx, name)
	if err != nil {
		return err
	}
	defer lock.Release()
	n, err := s.Get(name)
	if err != nil {
		return err
	}
	if err := n.remove(ctx); err != nil {
		return fmt.Errorf("take down network %s: %w", name, err)
	}
	return lock.Remove()
}

// remove undoes all of Up, of which each step may not have happened.
func (n *Net) remove(ctx context.Context) error {
	if err := n.processes().KillAll(); err != nil {
		return err
	}
	names := []string{n.router()}
	for _, h := range n.Hosts {
		names = append(names, h.NetNS)
	}
	var errs []error
	for _, name := range names {
		errs = append(errs, netns.KillMembers(ctx, name), netns.Remove(ctx, name))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return os.RemoveAll(n.dir)
}
