package delivery

import (
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// step collects what one revision changes, so that each feed gets it as one. The catalog's lock is
// held while it lives.
type step struct {
	d        *Delivery
	revision int64
	bulk     bool // a snapshot: everything is settled once, at the end
	first    bool // the first snapshot
	changes  map[string][]store.Change
	spaces   map[*space]struct{}
	spaced   map[*namespace]struct{}
}

func (d *Delivery) begin(revision int64) *step {
	d.revision = max(d.revision, revision)
	return &step{d: d, revision: d.revision, changes: map[string][]store.Change{}, spaces: map[*space]struct{}{},
		spaced: map[*namespace]struct{}{}}
}

// finish lets Namespaces and CustomResourceDefinitions follow what moved, and hands the changes to
// the feeds.
func (s *step) finish() {
	for len(s.spaced) > 0 || len(s.spaces) > 0 {
		for n := range s.spaced {
			delete(s.spaced, n)
			s.settleRights(n)
			if n.self != nil {
				s.settle(n.self, false)
			}
		}
		for sp := range s.spaces {
			delete(s.spaces, sp)
			s.settleDefinitions(sp)
			s.settleRights(sp.cluster)
		}
	}
	if s.d.cfg.Spread != nil && !s.bulk && len(s.changes) > 0 {
		s.d.cfg.Spread(len(s.changes))
	}
	for name, changes := range s.changes {
		if t := s.d.targets[name]; t != nil {
			if t.emptied {
				changes = onlyTombstones(changes)
			}
			t.feed.Apply(s.revision, changes...)
		}
	}
}

// settle brings the feeds up to date with an object: where it is now, and its hash when that
// changed. What the object names goes with it.
func (s *step) settle(o *object, changed bool) {
	if s.bulk {
		return
	}
	defer func() { o.keeps, o.goes = false, false }()
	next := s.d.effective(o)
	if next == o.on && !changed {
		return
	}
	joins := next != o.on && !s.first
	for _, t := range next.list() {
		if changed || !o.on.has(t) {
			s.changes[t] = append(s.changes[t], store.Change{Key: o.key(), Hash: o.hash, Generation: o.generation})
		}
		if joins && !o.on.has(t) && s.d.shows(t, o) {
			s.d.doubts.add(t, o.key(), s.revision)
		}
	}
	kept, intended := s.leave(o, next)
	if next == o.on {
		return
	}
	s.footprint(o, next)
	o.on = next
	if o.work != nil {
		for _, dep := range o.work.names {
			dep.keeps, dep.goes = kept, intended
			s.settle(dep, false)
		}
	}
	s.d.note(o)
}

// footprint counts objects per namespace and per space, by where they are.
func (s *step) footprint(o *object, next *set) {
	if o.kind.order == store.ClassCRD || o.rights() {
		return
	}
	if o.ns.name != "" {
		if shift(o.ns.here, o.on, next) {
			s.spaced[o.ns] = struct{}{}
		}
	}
	if shift(o.ns.space.here, o.on, next) {
		s.spaces[o.ns.space] = struct{}{}
	}
}

// shift moves one object from one set to another and tells whether a set came or went.
func shift(here map[*set]int, from, to *set) bool {
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

// effective tells which targets an object is on: as its group's record says and as long as it is
// held elsewhere, and wherever a workload that names it is. Namespaces and
// CustomResourceDefinitions are where anything of theirs is.
func (d *Delivery) effective(o *object) *set {
	if !o.present {
		return nil
	}
	switch o.kind.order {
	case store.ClassCRD:
		if o.leaving {
			return nil
		}
		return d.defines(o)
	case store.ClassNamespace:
		n := o.ns.space.namespaces[o.name]
		if o.leaving {
			return d.everywhere(nil, n.here)
		}
		return d.everywhere(n.group.record, n.here)
	}
	if o.rights() {
		return d.atSites(o)
	}
	if o.leaving {
		return nil
	}
	if o.finished {
		return d.finished[o]
	}
	on := d.where(o)
	if o.work != nil {
		for _, w := range o.work.namedBy {
			on = d.sets.union(on, d.where(w))
		}
	}
	return on
}

// where is effective without what other workloads need.
func (d *Delivery) where(o *object) *set {
	if o.source == nil || !o.present || o.leaving {
		return nil
	}
	if o.finished {
		return nil // what it names is not needed any more
	}
	h := d.holds[o]
	switch {
	case h == nil:
		return o.source.record
	case h.pinned, h.failed != "":
		return h.on
	case o.source.breaksFirst() && h.broken:
		return d.sets.minus(h.on, d.sets.minus(h.on, o.source.record))
	case o.source.breaksFirst():
		return h.on
	default:
		return d.sets.union(h.on, o.source.record)
	}
}

func (d *Delivery) everywhere(on *set, here map[*set]int) *set {
	var extra *set
	for s := range here {
		extra = d.sets.union(extra, s)
	}
	if extra == nil {
		return on
	}
	return d.sets.union(on, d.sets.of(placement.Union(nil, extra.names)))
}
