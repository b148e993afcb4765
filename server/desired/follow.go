package desired

import (
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/scheduler"
	"skerry.dev/skerry/store"
)

// record takes a write of a record.
func (s *step) record(w store.Write) {
	st, name := s.st, w.Key.Name
	if unit, release, ok := scheduler.NamedRollout(name); ok {
		s.rolloutRecord(w, unit, release)
		return
	}
	id, seq := scheduler.Named(name)
	var r scheduler.Record
	if w.Object != nil {
		var err error
		if r, err = scheduler.Decode(w.Object, &st.catalog.Records.Targets); err != nil {
			st.cfg.Log.Error("a record cannot be read, the one before stays", "key", w.Key.String(), "err", err)
			if u := st.catalog.Records.Units[id]; u != nil {
				u.Epoch = st.catalog.Epoch
			}
			if c := st.catalog.Records.Cohorts[seq]; c != nil {
				c.Epoch = st.catalog.Epoch
			}
			return
		}
	}
	at := catalog.Stored{Space: w.Key.Space, Of: r.Unit, Revision: w.Revision, Epoch: st.catalog.Epoch}
	switch {
	case seq != 0:
		s.cohort(seq, at, r.Cohort)
	case id != "":
		s.binding(id, at, r.Binding)
	default:
		st.catalog.Records.Term, st.catalog.Records.TermAt = binding.Term{}, 0
		if r.Term != nil {
			st.catalog.Records.Term, st.catalog.Records.TermAt = *r.Term, w.Revision
		}
		st.catalog.Records.Index.SetTerm(st.catalog.Records.Term)
	}
}

func (s *step) binding(id binding.UnitID, at catalog.Stored, b *binding.Binding) {
	st := s.st
	u := st.catalog.Records.UnitOf(id)
	was := u.Stored
	if b == nil {
		st.catalog.Records.Index.DeleteBinding(id)
		at.Space, at.Of, at.Revision = was.Space, was.Of, 0
	} else {
		st.catalog.Records.Index.PutBinding(*b, at.Revision)
		st.catalog.Follow(&at, b.Record)
	}
	u.Stored = at
	if s.bulk {
		return
	}
	s.decided(u, !at.SameAs(was))
}

// decided lets the feeds follow a Binding, and wakes what depends on it.
func (s *step) decided(u *catalog.Unit, moved bool) {
	st := s.st
	g := st.catalog.Holder(u)
	if g != nil {
		g.Record = u.On
		if g.Kind == catalog.OfPlacement && s.redivided(g.Book) {
			g.Members(func(o *catalog.Object) bool { st.catalog.RerenderIfStale(o); return true })
		}
		if g.Kind == catalog.OfNamespace && moved {
			s.settle(g.Namespace.Self, false)
			st.catalog.Note(g.Namespace.Self)
		}
		if g.Kind == catalog.OfPlacement && moved {
			s.related(g.Space)
			if len(g.Space.Upsyncs) > 0 {
				s.spaces[g.Space] = struct{}{}
			}
			st.cfg.Placement(g.Ref().Key, "")
		}
		st.catalog.Enqueue(g)
		st.catalog.WakeRollout(g)
	}
	if moved {
		st.catalog.Around(u, g, func(o *catalog.Object) {
			if st.catalog.Records.Of(o) == (binding.Ref{Unit: u.ID}) {
				s.settle(o, false)
				st.catalog.Note(o)
			} else if o.With == nil {
				st.catalog.Pass(o)
			}
		})
	}
	for c := range st.catalog.Records.Open[u.ID] {
		st.catalog.Groups.Add(catalog.CohortRef(c.Space, c.Seq))
	}
}

func (s *step) cohort(seq uint64, at catalog.Stored, c *binding.Cohort) {
	st := s.st
	known := st.catalog.Records.Cohorts[seq]
	if c == nil {
		if st.catalog.Records.Index.DeleteCohort(seq); known == nil {
			return
		}
		st.catalog.Records.ForgetCohort(known)
		s.passed(known, true)
		return
	}
	moved := known == nil
	if known == nil {
		known = &catalog.Cohort{Seq: seq, Objects: map[*catalog.Object]struct{}{}}
		st.catalog.Records.Cohorts[seq] = known
	}
	was := known.Stored
	st.catalog.Follow(&at, c.Record)
	st.catalog.Records.Index.PutCohort(*c, at.Revision)
	known.Stored = at
	st.catalog.Records.PassesTo(known, c.To, c.Arrived || c.Ended)
	if s.bulk {
		return
	}
	if moved || was.Of != at.Of {
		st.catalog.Gather(known)
	}
	s.passed(known, moved || !at.SameAs(was) || c.Arrived)
	st.catalog.Groups.Add(catalog.CohortRef(at.Space, seq))
	if c.Arrived {
		if u := st.catalog.Records.Units[c.To]; u != nil {
			if g := st.catalog.Holder(u); g != nil {
				st.catalog.Enqueue(g)
			}
		}
	}
}

// passed lets the feeds follow a cohort.
func (s *step) passed(c *catalog.Cohort, moved bool) {
	for o := range c.Objects {
		if !o.Present {
			delete(c.Objects, o)
			continue
		}
		s.st.catalog.RerenderIfStale(o) // it may have its share now, see WantedOptions
		if moved {
			s.settle(o, false)
			s.st.catalog.Note(o)
		}
		s.st.catalog.Pass(o)
	}
}

// renamed finds out again where records say that their objects are, after a SyncTarget came under a
// name that another one had.
func (s *step) renamed() {
	st := s.st
	for id, u := range st.catalog.Records.Units {
		if b, ok := st.catalog.Records.Index.Binding(id); ok && st.catalog.Follow(&u.Stored, b.Record) {
			s.decided(u, true)
		}
	}
	for seq, c := range st.catalog.Records.Cohorts {
		if is, ok := st.catalog.Records.Index.Cohort(seq); ok && st.catalog.Follow(&c.Stored, is.Record) {
			s.passed(c, true)
		}
	}
}

// sweepRecords removes what a snapshot did not mention, and finds the objects of the rest.
func (s *step) sweepRecords() {
	st := s.st
	for id, u := range st.catalog.Records.Units {
		if u.Revision != 0 && u.Epoch != st.catalog.Epoch {
			s.binding(id, catalog.Stored{}, nil)
		}
	}
	for seq, c := range st.catalog.Records.Cohorts {
		if c.Epoch != st.catalog.Epoch {
			st.catalog.Records.Index.DeleteCohort(seq)
			st.catalog.Records.ForgetCohort(c)
		}
	}
	st.catalog.GatherAll()
	for id, u := range st.catalog.Records.Units { // the records came before the SyncTargets that they name
		b, _ := st.catalog.Records.Index.Binding(id)
		st.catalog.Follow(&u.Stored, b.Record)
	}
	for seq, c := range st.catalog.Records.Cohorts {
		is, _ := st.catalog.Records.Index.Cohort(seq)
		st.catalog.Follow(&c.Stored, is.Record)
	}
	for _, sp := range st.catalog.Spaces {
		for _, n := range sp.Namespaces {
			st.catalog.Known(&n.Group)
		}
		for _, b := range sp.Placements {
			st.catalog.Known(&b.Group)
			s.redivided(b)
		}
		sp.EachObject(func(o *catalog.Object) {
			if o.Source != nil && o.Source.Kind == catalog.OfObject {
				st.catalog.Known(o.Source)
			}
		})
	}
}
