package delivery

import (
	"context"
	"fmt"
	"strconv"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// origin is what is rendered into a body.
func (m *mark) origin(space, uid string) customize.Origin {
	o := customize.Origin{Space: space, UID: uid}
	if m != nil {
		o.Placement, o.Sync, o.PodAPI = m.placement, m.sync, m.api
	}
	return o
}

// origin is what is rendered into the body of an object.
func (d *Delivery) origin(k store.Key, m *mark, uid string) customize.Origin {
	o, space := m.origin(k.Space, uid), d.spaceMarks.get(k.Space)
	o.NamespacePrefix = space.prefix
	if k.Class() == store.ClassNamespace {
		o.SpaceUID = space.uid
	}
	return o
}

// remark takes over what a Placement's policy says, as a new mark only when it says something else.
func (b *rulebook) remark(p v1alpha1.SyncPolicy) {
	sync := placement.SyncMark(p)
	if b.mark == nil || b.mark.sync != sync {
		b.mark = newMark(mark{placement: b.name, sync: sync, policy: p})
	}
}

// newMark returns a mark with its variants.
func newMark(m mark) *mark {
	out := &m
	out.variants = map[placement.PodAPI]*mark{}
	for _, api := range []placement.PodAPI{placement.SpaceAPI, placement.NoAPI} {
		v := m
		v.api = api
		out.variants[api] = &v
	}
	return out
}

// unplaced has the variants of what no Placement decides about.
var unplaced = newMark(mark{})

// markNow is the mark of who decides about the object now, in the variant for its pods.
func (o *object) markNow() *mark {
	var m *mark
	variants := unplaced.variants
	if o.source != nil && o.source.kind == ofPlacement {
		if m = o.source.book.mark; m != nil {
			variants = m.variants
		}
	}
	if api := o.podAPI(); variants[api] != nil {
		return variants[api]
	}
	return m
}

// remark has an object rendered again when another mark belongs on it. The lock must be held.
func (d *Delivery) remark(o *object) {
	if o.present && o.hash != (store.Hash{}) && o.mark != o.markNow() {
		d.marks.Add(o.key())
	}
}

// rerender puts the present mark on an object that was not written since that changed.
func (d *Delivery) rerender(ctx context.Context, k store.Key) error {
	d.mu.RLock()
	o := d.find(k)
	if o == nil || o.mark == o.markNow() {
		d.mu.RUnlock()
		return nil
	}
	m, w := o.markNow(), store.Write{Key: k, APIVersion: o.kind.apiVersion, Kind: o.kind.name}
	d.mu.RUnlock()
	var err error
	w.Object, err = d.cfg.API.Get(ctx, k, w.APIVersion)
	if err != nil {
		return fmt.Errorf(
			"read %s: %w",
			k,
			err,
		) // also not found: the catalog has it, so its deletion is on its way here
	}
	w.Revision, _ = strconv.ParseInt(str(w.Object, "metadata", "resourceVersion"), 10, 64)
	as := d.renderFor(w, m)
	if as.body == nil {
		return nil // which is logged, and stays so until the object changes
	}

	d.mu.Lock()
	defer d.mu.Unlock()
	o = d.find(k)
	switch {
	case o == nil || o.mark == o.markNow() || w.Revision > o.revision:
		return nil // a write that came or comes meanwhile renders with the mark of its time
	case w.Revision < o.revision || o.markNow() != m:
		return fmt.Errorf("render %s: %w", k, errBehind)
	}
	changed := as.hash != o.hash
	rendered := o.mark
	o.hash, o.content, o.mark = as.hash, as.content, as.mark
	d.sized(o, len(as.body))
	s := d.begin(0)
	s.tellPodAPI(o, rendered)
	s.settle(o, changed)
	s.finish()
	return nil
}
