package desired

import (
	"context"
	"fmt"
	"strconv"

	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// origin returns what is rendered into the body of an object.
func (d *State) origin(k store.Key, m *catalog.RenderOptions, uid string) customize.Origin {
	o, space := m.Origin(k.Space, uid), d.spaceOrigins.get(k.Space)
	o.NamespacePrefix = space.prefix
	if !placement.Divides(k.Group, k.Resource) {
		o.Division = nil
	}
	namespace := k.Namespace
	if k.Class() == store.ClassNamespace {
		o.SpaceUID, namespace = space.uid, k.Name
	}
	if space.prefix == "" && store.IsSystem(namespace) {
		o.NamespacePrefix = store.SystemPrefix(k.Space)
	}
	return o
}

// Rerender renders an object whose options have changed since it was written.
func (d *State) Rerender(ctx context.Context, k store.Key) error {
	d.catalog.RLock()
	o := d.catalog.Find(k)
	if o == nil || o.Retired || o.Options == d.catalog.WantedOptions(o) {
		d.catalog.RUnlock()
		return nil
	}
	m, w := d.catalog.WantedOptions(o), store.Write{Key: k, APIVersion: o.Kind.ApiVersion, Kind: o.Kind.Name}
	d.catalog.RUnlock()
	var err error
	w.Object, err = d.cfg.Objects.Get(ctx, k, w.APIVersion)
	if err != nil {
		// Also if it is not found: the catalog has it, so its deletion is on its way here.
		return fmt.Errorf("read %s: %w", k, err)
	}
	w.Revision, _ = strconv.ParseInt(fields.Clone(w.Object, "metadata", "resourceVersion"), 10, 64)
	as := d.renderFor(w, m)
	if as.body == nil {
		return nil // renderFor has logged it; it stays so until the object changes
	}

	d.catalog.Lock()
	defer d.catalog.Unlock()
	o = d.catalog.Find(k)
	switch {
	case o == nil || o.Options == d.catalog.WantedOptions(o) || w.Revision > o.Revision:
		return nil // a newer write is rendered with the options of its time
	case w.Revision < o.Revision || d.catalog.WantedOptions(o) != m:
		return fmt.Errorf("render %s: %w", k, errBehind)
	}
	changed := as.hash != o.Hash
	rendered, kept := o.Options, d.catalog.KeepsPlace(o)
	if o.Digest != as.digest {
		d.catalog.ContentChanged(o.Source)
	}
	o.Hash, o.Content, o.Digest, o.Options = as.hash, as.content, as.digest, as.options
	name(o, as.name)
	catalog.WakeUnless(d.catalog, o, kept)
	if d.catalog.Rolling(o.Source) != nil && d.catalog.Scaling(o) {
		d.catalog.Rolls.Add(o.Source.UnitRef())
	}
	d.sized(o, len(as.body))
	s := d.begin(0)
	s.tellPodAPI(o, rendered)
	s.settle(o, changed)
	s.finish()
	return nil
}
