package desired

import (
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// step collects what one revision changes, so that each feed gets it as one. The catalog's lock is
// held while it lives.
type step struct {
	st       *State
	revision int64
	bulk     bool // a snapshot: everything is settled once, at the end
	first    bool // the first snapshot
	// renamedTo is a target that has got this name, and has what it had: what it reports is not doubted.
	renamedTo string
	changes   map[string][]store.Change
	spaces    map[*catalog.Space]struct{}
	spaced    map[*catalog.Namespace]struct{}
	yielded   map[string]struct{} // Namespaces in which imports are to be looked at, see yield
	content   *catalog.Kept       // of the release whose record is taken, where it was read before
}

func (st *State) begin(revision int64) *step {
	st.catalog.Revision = max(st.catalog.Revision, revision)
	return &step{st: st, revision: st.catalog.Revision, changes: map[string][]store.Change{},
		spaces: map[*catalog.Space]struct{}{},
		spaced: map[*catalog.Namespace]struct{}{}, yielded: map[string]struct{}{}}
}

// finish lets Namespaces, Customizers and CustomResourceDefinitions follow what moved, and hands the changes to
// the feeds.
func (s *step) finish() {
	for len(s.spaced) > 0 || len(s.spaces) > 0 || len(s.yielded) > 0 {
		for n := range s.spaced {
			delete(s.spaced, n)
			s.settleRights(n)
			if n.Self != nil {
				s.settle(n.Self, false)
			}
		}
		for name := range s.yielded {
			delete(s.yielded, name)
			yield(s, name)
		}
		for sp := range s.spaces {
			delete(s.spaces, sp)
			s.settleDefinitions(sp)
			s.settleCustomizers(sp)
			s.settleUpsyncs(sp)
			s.settleRights(sp.Cluster)
			s.settleReaching(sp)
		}
	}
	s.empty()
	if s.st.cfg.Spread != nil && !s.bulk && len(s.changes) > 0 {
		s.st.cfg.Spread(len(s.changes))
	}
	for name, changes := range s.changes {
		if t := s.st.catalog.Targets[name]; t != nil {
			if t.Emptied {
				changes = onlyTombstones(changes)
			}
			t.Feed.Apply(s.revision, t.Ordered(changes)...)
		}
	}
	s.st.catalog.Advance(s.revision)
}

// settle brings the feeds up to date with an object: where it is now, and its hash when that
// changed. What the object names, and what selects or names it, goes with it.
func (s *step) settle(o *catalog.Object, changed bool) {
	if s.bulk {
		return
	}
	defer func() { o.Keeps, o.Goes = false, false }()
	was := o.On
	kept, intended := s.place(o, changed)
	s.lead(o, o.On != was, kept, intended)
}

// place is settle without what goes along. It tells what leave does.
func (s *step) place(o *catalog.Object, changed bool) (kept, intended bool) {
	s.settleApart(o)
	next := s.st.catalog.Effective(o)
	if s.st.catalog.Unshared(o) {
		next = s.st.catalog.Sets.Both(o.On, next)
	}
	s.st.charge(o, next)
	if next != o.On {
		catalog.KeepOpen(s.st.catalog, o, next)
	}
	doors, opens := catalog.Doors(s.st.catalog, o, next)
	named := s.st.catalog.Sets.Union(s.st.catalog.NamedAt(o, next), doors)
	if next == o.On && named == o.Named && !changed && !opens {
		return false, false
	}
	s.st.toldContent(o)
	joins := next != o.On && !s.first
	feeds, send := s.st.catalog.Sets.Union(next, named), []string(nil)
	for _, t := range feeds.List() {
		if changed || !o.HasAt(t) || o.Reaches && next.Has(t) != o.On.Has(t) {
			send = append(send, t)
		}
		if joins && next.Has(t) && t != s.renamedTo && !o.HasAt(t) {
			s.st.doubt(t, o, s.revision)
		}
	}
	kept, intended = s.leave(o, feeds)
	s.framed(o, feeds)
	moves := next != o.On
	if moves {
		s.footprint(o, next)
	}
	o.Named, o.On = named, next
	for _, t := range send {
		s.changes[t] = append(s.changes[t], s.st.catalog.Change(o, t))
	}
	if !moves && !opens {
		return kept, intended
	}
	s.st.tellUpsyncs(o)
	if moves && o.Kind.Order == store.ClassNamespace {
		s.yielded[o.Name] = struct{}{}
	}
	for _, service := range catalog.EntersTo(o) {
		s.settle(service, false)
	}
	if o.Work != nil {
		for _, dep := range o.Work.Names {
			dep.Keeps, dep.Goes = kept, intended
			s.settle(dep, false)
		}
	}
	s.st.catalog.Note(o)
	return kept, intended
}

// framed counts objects per namespace, by whose feeds have them: the Namespace goes there, too.
func (s *step) framed(o *catalog.Object, feeds *catalog.Set) {
	if o.Namespace.Name == "" || o.Kind.Order == store.ClassRule || o.Rights() {
		return
	}
	if before := s.st.catalog.Feeds(o); shift(o.Namespace.Here, before, feeds) {
		s.spaced[o.Namespace] = struct{}{}
	} else if before == feeds {
		return
	}
	if len(s.st.catalog.Imports[o.Namespace.Name]) > 0 {
		s.yielded[o.Namespace.Name] = struct{}{}
	}
}

// footprint counts objects per space, by where they are.
func (s *step) footprint(o *catalog.Object, next *catalog.Set) {
	if o.Kind.Order == store.ClassCRD || o.Kind.Order == store.ClassRule || o.Rights() {
		return
	}
	if placement.RunsPods(o.Key()) && shift(o.Namespace.Space.Runs, o.On, next) {
		s.spaces[o.Namespace.Space] = struct{}{}
	}
	if shift(o.Namespace.Space.Here, o.On, next) {
		s.spaces[o.Namespace.Space] = struct{}{}
	}
	if !o.Apart && o.Kind.Order != store.ClassNamespace && shift(o.Namespace.Space.Uses, o.On, next) {
		s.spaces[o.Namespace.Space] = struct{}{}
	}
}

// shift moves one object from one set to another and tells whether a set came or went.
func shift(here map[*catalog.Set]int, from, to *catalog.Set) bool {
	if from == to {
		return false
	}
	crossed := false
	if from != nil {
		here[from]--
		if here[from] == 0 {
			delete(here, from)
			crossed = true
		}
	}
	if to != nil {
		here[to]++
		crossed = crossed || here[to] == 1
	}
	return crossed
}
