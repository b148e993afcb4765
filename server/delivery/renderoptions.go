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

// origin returns what is rendered into a body.
func (m *renderOptions) origin(space, uid string) customize.Origin {
	o := customize.Origin{Space: space, UID: uid}
	if m != nil {
		o.Placement, o.Sync, o.PodAPI = m.placement, m.sync, m.api
	}
	return o
}

// origin returns what is rendered into the body of an object.
func (d *Delivery) origin(k store.Key, m *renderOptions, uid string) customize.Origin {
	o, space := m.origin(k.Space, uid), d.spaceOrigins.get(k.Space)
	o.NamespacePrefix = space.prefix
	if k.Class() == store.ClassNamespace {
		o.SpaceUID = space.uid
	}
	return o
}

// setPolicy makes the options of a Placement follow its policy. Equal policies leave them as they
// are.
func (b *rulebook) setPolicy(p v1alpha1.SyncPolicy) {
	sync := placement.FormatSync(p)
	if b.options == nil || b.options.sync != sync {
		b.options = newRenderOptions(renderOptions{placement: b.name, sync: sync, policy: p})
	}
}

// newRenderOptions returns options with their variants.
func newRenderOptions(m renderOptions) *renderOptions {
	out := &m
	out.variants = map[placement.PodAPI]*renderOptions{}
	for _, api := range []placement.PodAPI{placement.SpaceAPI, placement.NoAPI} {
		v := m
		v.api = api
		out.variants[api] = &v
	}
	return out
}

// unplaced has the variants of what no Placement decides about.
var unplaced = newRenderOptions(renderOptions{})

// wantedOptions returns the options of who decides about the object now, in the variant for its
// pods. Delivery.mu must be held.
func (o *object) wantedOptions() *renderOptions {
	var m *renderOptions
	variants := unplaced.variants
	if o.source != nil && o.source.kind == ofPlacement {
		if m = o.source.book.options; m != nil {
			variants = m.variants
		}
	}
	if api := o.podAPI(); variants[api] != nil {
		return variants[api]
	}
	return m
}

// rerenderIfStaleLocked enqueues an object that was rendered with other options than it should be
// now. d.mu must be held.
func (d *Delivery) rerenderIfStaleLocked(o *object) {
	if o.present && o.hash != (store.Hash{}) && o.options != o.wantedOptions() {
		d.renders.Add(o.key())
	}
}

// rerender renders an object whose options have changed since it was written.
func (d *Delivery) rerender(ctx context.Context, k store.Key) error {
	d.mu.RLock()
	o := d.find(k)
	if o == nil || o.options == o.wantedOptions() {
		d.mu.RUnlock()
		return nil
	}
	m, w := o.wantedOptions(), store.Write{Key: k, APIVersion: o.kind.apiVersion, Kind: o.kind.name}
	d.mu.RUnlock()
	var err error
	w.Object, err = d.cfg.API.Get(ctx, k, w.APIVersion)
	if err != nil {
		// Also if it is not found: the catalog has it, so its deletion is on its way here.
		return fmt.Errorf("read %s: %w", k, err)
	}
	w.Revision, _ = strconv.ParseInt(str(w.Object, "metadata", "resourceVersion"), 10, 64)
	as := d.renderFor(w, m)
	if as.body == nil {
		return nil // renderFor has logged it; it stays so until the object changes
	}

	d.mu.Lock()
	defer d.mu.Unlock()
	o = d.find(k)
	switch {
	case o == nil || o.options == o.wantedOptions() || w.Revision > o.revision:
		return nil // a newer write is rendered with the options of its time
	case w.Revision < o.revision || o.wantedOptions() != m:
		return fmt.Errorf("render %s: %w", k, errBehind)
	}
	changed := as.hash != o.hash
	rendered := o.options
	o.hash, o.content, o.options = as.hash, as.content, as.options
	d.sized(o, len(as.body))
	s := d.begin(0)
	s.tellPodAPI(o, rendered)
	s.settle(o, changed)
	s.finish()
	return nil
}
