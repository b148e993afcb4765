package fault

import (
	"context"
	"fmt"

	"skerry.dev/skerry/testenv/netns"
)

// Set puts a fault in force, beside those that are; it returns when the next
// packet meets it.
func (s Nets) Set(ctx context.Context, name string, rule Rule) error {
	return s.change(ctx, name, rule.Host, func(n *Net) error {
		n.Rules = n.Rules.Set(rule)
		return n.send(ctx, n.Rules)
	})
}

// Heal removes the faults of a host, or for [Everyone] all faults.
func (s Nets) Heal(ctx context.Context, name, host string) error {
	return s.change(ctx, name, host, func(n *Net) error {
		for i := range n.Hosts {
			h := &n.Hosts[i]
			if !h.Down || host != Everyone && host != h.Name {
				continue
			}
			if err := h.linkUp(ctx); err != nil {
				return err
			}
			h.Down = false
		}
		n.Rules = n.Rules.Heal(host)
		return n.send(ctx, n.Rules)
	})
}

// LinkDown takes a host's own link down. Unlike a cut in the router the host
// notices: its programs are told that there is no route.
func (s Nets) LinkDown(ctx context.Context, name, host string) error {
	if host == Everyone {
		return fmt.Errorf("a link is one host's: say which with --host")
	}
	return s.change(ctx, name, host, func(n *Net) error {
		h, err := n.Host(host)
		if err != nil {
			return err
		}
		h.Down = true
		return netns.IP(ctx, "-n", h.NetNS, "link", "set", hostDevice, "down")
	})
}

// change changes a network and records it.
func (s Nets) change(ctx context.Context, name, host string, change func(*Net) error) error {
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
	if host != Everyone {
		if _, err := n.Host(host); err != nil {
			return err
		}
	}
	if err := change(n); err != nil {
		return err
	}
	return n.save()
}
