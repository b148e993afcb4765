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
func (st *State) origin(k store.Key, m *catalog.RenderOptions, uid string) customize.Origin {
	o, space := m.Origin(k.Space, uid), st.spaceOrigins.get(k.Space)
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
func (st *State) Rerender(ctx context.Context, k store.Key) error {
	st.catalog.RLock()
	o := st.catalog.Find(k)
	if o == nil || o.Retired || o.Options == st.catalog.WantedOptions(o) {
		st.catalog.RUnlock()
		return nil
	}
	m, w := st.catalog.WantedOptions(o), store.Write{Key: k, APIVersion: o.Kind.ApiVersion, Kind: o.Kind.Name}
	st.catalog.RUnlock()
	var err error
	w.Object, err = st.cfg.Objects.Get(ctx, k, w.APIVersion)
	if err != nil {
		// Also if it is not found: the catalog has it, so its deletion is on its way here.
		return fmt.Errorf("read %s: %w", k, err)
	}
	w.Revision, _ = strconv.ParseInt(fields.Clone(w.Object, "metadata", "resourceVersion"), 10, 64)
	as := st.renderFor(w, m)
	if as.body == nil {
		return nil // renderFor has logged it; it stays so until the object changes
	}

	st.catalog.Lock()
	defer st.catalog.Unlock()
	o = st.catalog.Find(k)
	switch {
	case o == nil || o.Options == st.catalog.WantedOptions(o) || w.Revision > o.Revision:
		return nil // a newer write is rendered with the options of its time
	case w.Revision < o.Revision || st.catalog.WantedOptions(o) != m:
		return fmt.Errorf("render %s: %w", k, errBehind)
	}
	changed := as.hash != o.Hash
	rendered, kept := o.Options, st.catalog.KeepsPlace(o)
	if o.Digest != as.digest {
		st.catalog.ContentChanged(o.Source)
	}
	o.Hash, o.Content, o.Digest, o.Options = as.hash, as.content, as.digest, as.options
	name(o, as.name)
	catalog.WakeUnless(st.catalog, o, kept)
	if st.catalog.Rolling(o.Source) != nil && st.catalog.Scaling(o) {
		st.catalog.Rolls.Add(o.Source.UnitRef())
	}
	st.sized(o, len(as.body))
	s := st.begin(0)
	s.tellPodAPI(o, rendered)
	s.settle(o, changed)
	s.finish()
	return nil
}
