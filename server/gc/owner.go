package gc

import (
	"context"
	"slices"
)

// orphan lets the dependents of an object go before the object goes.
func (c *Collector) orphan(ctx context.Context, s subject) error {
	for _, d := range c.dependents(s.id, func(*node) bool { return true }) {
		obj, m, ok, err := c.live(ctx, d)
		if err != nil {
			return err
		}
		if !ok || !slices.ContainsFunc(m.owners, func(o owner) bool { return o.uid == s.id.uid }) {
			continue
		}
		if err := c.keepReferences(ctx, d, obj, m, func(uid string) bool { return uid != s.id.uid }); err != nil {
			return err
		}
	}
	if c.cfg.Keeps != nil {
		if err := c.cfg.Keeps(s.key); err != nil {
			return err
		}
	}
	return c.unhold(ctx, s, finalizerOrphan)
}

// finish lets an object that is deleted in the foreground go when nothing blocks it any more. What
// it owns was asked to go when the deletion was seen.
func (c *Collector) finish(ctx context.Context, s subject) error {
	blocking := c.dependents(s.id, func(d *node) bool {
		return !d.apart(s.key) && slices.ContainsFunc(d.owners, func(o owner) bool { return o.uid == s.id.uid && o.blocks })
	})
	if len(blocking) > 0 {
		return nil // each of them comes back here when it goes
	}
	return c.unhold(ctx, s, finalizerForeground)
}

// unhold takes a finalizer off.
func (c *Collector) unhold(ctx context.Context, s subject, finalizer string) error {
	_, m, ok, err := c.live(ctx, s)
	if err != nil || !ok || !slices.Contains(m.finalizers, finalizer) {
		return err
	}
	left := slices.DeleteFunc(slices.Clone(m.finalizers), func(f string) bool { return f == finalizer })
	return c.patch(ctx, s, m, "finalizers", append([]string{}, left...))
}

// dependents copies those of an object's dependents that which chooses.
func (c *Collector) dependents(i id, which func(*node) bool) []subject {
	c.graph.mu.Lock()
	defer c.graph.mu.Unlock()
	n := c.graph.nodes[i]
	if n == nil {
		return nil
	}
	var out []subject
	for d := range n.dependents {
		if !d.gone && which(d) {
			out = append(out, subject{id: d.id, key: d.key, apiVersion: d.apiVersion})
		}
	}
	return out
}
