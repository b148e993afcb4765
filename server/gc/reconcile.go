package gc

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// subject is an object under examination: a copy of its node, so that no lock is held while the API
// answers.
type subject struct {
	id         id
	key        store.Key
	apiVersion string
	orphans    bool
	foreground bool
	deleting   bool
}

// reconcile does what there is to do about one object. It may be called too often, never too
// seldom.
func (c *Collector) reconcile(ctx context.Context, i id) error {
	c.graph.mu.Lock()
	n := c.graph.nodes[i]
	if n == nil || n.gone || n.key == (store.Key{}) {
		c.graph.mu.Unlock()
		return nil
	}
	s := subject{i, n.key, n.apiVersion, n.has(finalizerOrphan), n.has(finalizerForeground), n.deleting}
	c.graph.mu.Unlock()
	switch {
	case s.orphans:
		return c.orphan(ctx, s)
	case s.foreground:
		return c.finish(ctx, s)
	case s.deleting:
		return nil // somebody else's finalizer holds it
	default:
		return c.collect(ctx, s)
	}
}

// live reads the object. ok is false when it is gone, which is noted.
func (c *Collector) live(ctx context.Context, s subject) (obj map[string]any, m meta, ok bool, err error) {
	obj, err = c.cfg.API.Live(ctx, s.key, s.apiVersion)
	if err == nil {
		m = metaOf(obj)
	}
	switch {
	case apierrors.IsNotFound(err), err == nil && m.uid != s.id.uid:
		c.graph.mu.Lock()
		defer c.graph.mu.Unlock()
		if n := c.graph.nodes[s.id]; n != nil {
			c.graph.removeLocked(n)
		}
		return nil, meta{}, false, nil
	case err != nil:
		return nil, meta{}, false, fmt.Errorf("read %s: %w", s.key, err)
	}
	return obj, m, true, nil
}

// collect deletes an object when none of its owners is left, and takes off references to owners
// that are gone when another one is left.
func (c *Collector) collect(ctx context.Context, s subject) error {
	obj, m, ok, err := c.live(ctx, s)
	if err != nil || !ok || m.deleting || len(m.owners) == 0 {
		return err
	}
	var solid, dangling, waiting []owner
	for _, o := range m.owners {
		state, err := c.examine(ctx, s, o)
		if err != nil {
			return err
		}
		switch state {
		case isThere:
			solid = append(solid, o)
		case isGone:
			dangling = append(dangling, o)
		case isWaiting:
			waiting = append(waiting, o)
		}
	}
	switch {
	case len(solid) > 0 && len(dangling)+len(waiting) > 0:
		return c.keepReferences(
			ctx,
			s,
			obj,
			m,
			func(uid string) bool { return slices.ContainsFunc(solid, func(o owner) bool { return o.uid == uid }) },
		)
	case len(solid) > 0:
		return nil
	}
	policy := metav1.DeletePropagationBackground
	if len(waiting) > 0 && c.hasOpenDependents(s.id) {
		policy = metav1.DeletePropagationForeground // what waits for this object waits for what it owns, too
	}
	err = c.cfg.API.Remove(ctx, s.key, s.apiVersion, m.uid, m.version, string(policy))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete %s: %w", s.key, err)
	}
	c.cfg.Log.Debug("garbage collected", "key", s.key.String(), "policy", string(policy))
	return nil
}

// hasOpenDependents reports whether the object owns anything that is not being deleted itself; a
// circle ends there.
func (c *Collector) hasOpenDependents(i id) bool {
	c.graph.mu.Lock()
	defer c.graph.mu.Unlock()
	n := c.graph.nodes[i]
	if n == nil {
		return false
	}
	for d := range n.dependents {
		if !d.deleting {
			return true
		}
	}
	return false
}

type ownerState int

const (
	isThere   ownerState = iota
	isGone               // it does not exist
	isWaiting            // it is deleted in the foreground and waits for this dependent
)

// examine reports whether an owner exists. One that is known from references only is read from the
// API once: from then on its writes tell. That an owner is gone is never taken from the writes
// alone, since they may be behind.
func (c *Collector) examine(ctx context.Context, s subject, o owner) (ownerState, error) {
	i := id{s.id.space, o.uid}
	c.graph.mu.Lock()
	n := c.graph.nodeLocked(i)
	var key store.Key
	if n.found && !n.apart(s.key) {
		key = n.key
	}
	now, known := n.stateFor(s.key, key)
	c.graph.mu.Unlock()
	defer func() {
		c.graph.mu.Lock()
		c.graph.forgetLocked(n)
		c.graph.mu.Unlock()
	}()
	if known {
		return now, nil
	}
	if key == (store.Key{}) {
		var err error
		if key, err = c.locate(ctx, s.key, o); err != nil {
			return isThere, err
		}
		c.graph.mu.Lock()
		now, known = n.stateFor(s.key, key)
		c.graph.mu.Unlock()
		if known {
			return now, nil
		}
	}
	c.graph.expect(n, key, o.apiVersion)
	live, err := c.cfg.API.Live(ctx, key, o.apiVersion)
	if err != nil && !apierrors.IsNotFound(err) {
		return isThere, fmt.Errorf("read owner %s of %s: %w", key, s.key, err)
	}
	found := err == nil && metaOf(live).uid == o.uid
	c.graph.mu.Lock()
	defer c.graph.mu.Unlock()
	c.graph.recordLocked(n, key, found, metaOf(live))
	now, _ = n.stateFor(s.key, key)
	return now, nil
}

// locate finds where an owner is, as its dependent names it. The kind must be served in the space:
// an owner of a kind that is not may be anything, and a cluster-scoped object cannot be owned by a
// namespaced one.
func (c *Collector) locate(ctx context.Context, dependent store.Key, o owner) (store.Key, error) {
	gv, err := schema.ParseGroupVersion(o.apiVersion)
	if err != nil {
		return store.Key{}, fmt.Errorf("%s names an owner of apiVersion %q: %w", dependent, o.apiVersion, err)
	}
	resource, namespaced, err := c.cfg.API.Resolve(ctx, dependent.Space, gv, o.kind)
	if err != nil {
		return store.Key{}, fmt.Errorf("%s is owned by %s %s: %w", dependent, o.kind, o.name, err)
	}
	k := store.Key{Space: dependent.Space, Group: gv.Group, Resource: resource, Name: o.name}
	if namespaced {
		k.Namespace = dependent.Namespace
		if k.Namespace == "" {
			return store.Key{}, fmt.Errorf(
				"%s is cluster-scoped and names a namespaced owner, %s %s: it is kept",
				dependent,
				o.kind,
				o.name,
			)
		}
	}
	return k, nil
}

// apart reports whether an object is in another namespace than a dependent: no reference reaches it from there.
// The lock of the graph must be held.
func (n *node) apart(dependent store.Key) bool {
	return n.key.Namespace != "" && dependent.Namespace != "" && n.key.Namespace != dependent.Namespace
}

// stateFor is the state of an owner for a dependent that looks for it at key, which may be empty. It reports
// false while the API has to be asked. The lock of the graph must be held.
func (n *node) stateFor(dependent, key store.Key) (now ownerState, known bool) {
	_, absent := n.absent[key]
	switch {
	case n.found && !n.gone && n.apart(dependent):
		return isGone, true
	case n.found && !n.gone && n.has(finalizerForeground):
		return isWaiting, true
	case n.found && !n.gone:
		return isThere, true
	case n.confirmed, absent:
		return isGone, true
	}
	return isThere, false
}

// keepReferences writes the object's owner references without those that keep refuses.
func (c *Collector) keepReferences(
	ctx context.Context,
	s subject,
	obj map[string]any,
	m meta,
	keep func(uid string) bool,
) error {
	metadata := fields.Map(obj, "metadata")
	references := fields.List(metadata, "ownerReferences")
	left := []any{}
	for _, r := range references {
		if ref, ok := r.(map[string]any); ok && keep(fields.String(ref, "uid")) {
			left = append(left, ref)
		}
	}
	return c.patch(ctx, s, m, "ownerReferences", left)
}

// patch sets one list of the metadata of the very object that was read.
func (c *Collector) patch(ctx context.Context, s subject, m meta, field string, value any) error {
	patch, err := json.Marshal(
		map[string]any{"metadata": map[string]any{"uid": m.uid, "resourceVersion": m.version, field: value}},
	)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	if _, err := c.cfg.API.Patch(ctx, s.key, s.apiVersion, "", patch); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write %s of %s: %w", field, s.key, err)
	}
	return nil
}
