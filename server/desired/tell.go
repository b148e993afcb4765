package desired

import (
	"slices"
	"strings"

	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// Content returns what a Placement has to carry out. It is false for one that is not known.
func (st *State) Content(k store.Key) (placement.Content, bool) {
	st.catalog.RLock()
	defer st.catalog.RUnlock()
	g := st.catalog.Group(catalog.Ref{Kind: catalog.OfPlacement, Key: k})
	if g == nil {
		return placement.Content{}, false
	}
	c := placement.Content{Targets: g.Record.List()}
	g.Members(func(o *catalog.Object) bool {
		if st.catalog.OnlyAlong(o) {
			return true
		}
		c.Objects = append(c.Objects, placement.Asked{Key: o.Key(), Demand: o.Demand(), Unsent: st.catalog.Unsent(o),
			Versions: st.catalog.VersionsOn(o)})
		return true
	})
	slices.SortFunc(c.Objects, func(a, b placement.Asked) int { return strings.Compare(a.Key.Encode(), b.Key.Encode()) })
	return c, true
}

// queued returns the same of which each call that tells others waits until the lock of a catalog is released. It
// must be held when they are called.
func (cfg Config) queued(c *catalog.Catalog) Config {
	out := cfg
	out.Refuse = func(k store.Key, why *store.ReportError) { c.After(func() { cfg.Refuse(k, why) }) }
	out.Event = func(e placement.Event) { c.After(func() { cfg.Event(e) }) }
	out.Moved, out.Placement, out.Upsync = func(string) {}, func(store.Key, string) {}, func(store.Key) {}
	if cfg.Moved != nil {
		out.Moved = func(target string) { c.After(func() { cfg.Moved(target) }) }
	}
	if cfg.Placement != nil {
		out.Placement = func(k store.Key, target string) { c.After(func() { cfg.Placement(k, target) }) }
	}
	if cfg.Upsync != nil {
		out.Upsync = func(rule store.Key) { c.After(func() { cfg.Upsync(rule) }) }
	}
	return out
}

// ToldPlacement hands on what Config.Placement is for. The lock must not be held.
func (st *State) ToldPlacement(k store.Key, target string) {
	if st.outside.Placement != nil {
		st.outside.Placement(k, target)
	}
}

// toldContent tells of an object that is another, or elsewhere.
func (st *State) toldContent(o *catalog.Object) {
	if o.Source != nil && o.Source.Kind == catalog.OfPlacement {
		st.cfg.Placement(o.Source.Ref().Key, "")
	}
}

// TellMoves tells that moves from or to some targets are others. The lock must not be held.
func (st *State) TellMoves(of ...[]string) {
	if st.outside.Moved == nil {
		return
	}
	for _, t := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(of...)))) {
		st.outside.Moved(t)
	}
}

// tellNoEffect makes an Event of an object that was written and does nothing. Equal Events are
// counted; a snapshot makes none.
func (s *step) tellNoEffect(w store.Write, r reading) {
	if s.bulk || r.leaving {
		return
	}
	if reason, message := placement.NoEffect(w.Key, w.Object); message != "" {
		s.st.cfg.Event(placement.Event{Key: w.Key, APIVersion: w.APIVersion, Kind: w.Kind, UID: r.uid,
			Warning: true, Reason: reason, Message: message})
	}
}

// sized notes how large the body of an object is, and says on the object when that is too large.
// The lock must be held.
func (st *State) sized(o *catalog.Object, n int) {
	was := st.catalog.Oversize[o]
	if n <= store.MaxBodyBytes {
		n = 0
	}
	if n == was {
		return
	}
	if n == 0 {
		delete(st.catalog.Oversize, o)
		st.cfg.Refuse(o.Key(), nil)
		return
	}
	st.catalog.Oversize[o] = n
	st.cfg.Refuse(o.Key(), &store.ReportError{Reason: catalog.TooLarge, Message: catalog.SizeMessage(n)})
}
