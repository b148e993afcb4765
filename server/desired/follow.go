package desired

import (
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/scheduler"
	"skerry.dev/skerry/store"
)

// record takes a write of a record.
func (s *step) record(w store.Write) {
	d, name := s.d, w.Key.Name
	if unit, release, ok := scheduler.NamedRollout(name); ok {
		s.rolloutRecord(w, unit, release)
		return
	}
	id, seq := scheduler.Named(name)
	var r scheduler.Record
	if w.Object != nil {
		var err error
		if r, err = scheduler.Decode(w.Object, &d.catalog.Records.Targets); err != nil {
			d.cfg.Log.Error("a record cannot be read, the one before stays", "key", w.Key.String(), "err", err)
			if u := d.catalog.Records.Units[id]; u != nil {
				u.Epoch = d.catalog.Epoch
			}
			if c := d.catalog.Records.Cohorts[seq]; c != nil {
				c.Epoch = d.catalog.Epoch
			}
			return
		}
	}
	at := catalog.Stored{Space: w.Key.Space, Of: r.Unit, Revision: w.Revision, Epoch: d.catalog.Epoch}
	switch {
	case seq != 0:
		s.cohort(seq, at, r.Cohort)
	case id != "":
		s.binding(id, at, r.Binding)
	default:
		d.catalog.Records.Term, d.catalog.Records.TermAt = binding.Term{}, 0
		if r.Term != nil {
			d.catalog.Records.Term, d.catalog.Records.TermAt = *r.Term, w.Revision
		}
		d.catalog.Records.Index.SetTerm(d.catalog.Records.Term)
	}
}

func (s *step) binding(id binding.UnitID, at catalog.Stored, b *binding.Binding) {
	d := s.d
	u := d.catalog.Records.UnitOf(id)
	was := u.Stored
	if b == nil {
		d.catalog.Records.Index.DeleteBinding(id)
		at.Space, at.Of, at.Revision = was.Space, was.Of, 0
	} else {
		d.catalog.Records.Index.PutBinding(*b, at.Revision)
		d.catalog.Follow(&at, b.Record)
	}
	u.Stored = at
	if s.bulk {
		return
	}
	s.decided(u, !at.SameAs(was))
}

// decided lets the feeds follow a Binding, and wakes what depends on it.
func (s *step) decided(u *catalog.Unit, moved bool) {
	d := s.d
	g := d.catalog.Holder(u)
	if g != nil {
		g.Record = u.On
		if g.Kind == catalog.OfPlacement && s.redivided(g.Book) {
			g.Members(func(o *catalog.Object) bool { d.catalog.RerenderIfStale(o); return true })
		}
		if g.Kind == catalog.OfNamespace && moved {
			s.settle(g.Namespace.Self, false)
			d.catalog.Note(g.Namespace.Self)
		}
		if g.Kind == catalog.OfPlacement && moved {
			s.related(g.Space)
			if len(g.Space.Upsyncs) > 0 {
				s.spaces[g.Space] = struct{}{}
			}
			d.cfg.Placement(g.Ref().Key, "")
		}
		d.catalog.Enqueue(g)
		d.catalog.WakeRollout(g)
	}
	if moved {
		d.catalog.Around(u, g, func(o *catalog.Object) {
			if d.catalog.Records.Of(o) == (binding.Ref{Unit: u.ID}) {
				s.settle(o, false)
				d.catalog.Note(o)
			} else if o.With == nil {
				d.catalog.Pass(o)
			}
		})
	}
	for c := range d.catalog.Records.Open[u.ID] {
		d.catalog.Groups.Add(catalog.CohortRef(c.Space, c.Seq))
	}
}

func (s *step) cohort(seq uint64, at catalog.Stored, c *binding.Cohort) {
	d := s.d
	known := d.catalog.Records.Cohorts[seq]
	if c == nil {
		if d.catalog.Records.Index.DeleteCohort(seq); known == nil {
			return
		}
		d.catalog.Records.ForgetCohort(known)
		s.passed(known, true)
		return
	}
	moved := known == nil
	if known == nil {
		known = &catalog.Cohort{Seq: seq, Objects: map[*catalog.Object]struct{}{}}
		d.catalog.Records.Cohorts[seq] = known
	}
	was := known.Stored
	d.catalog.Follow(&at, c.Record)
	d.catalog.Records.Index.PutCohort(*c, at.Revision)
	known.Stored = at
	d.catalog.Records.PassesTo(known, c.To, c.Arrived || c.Ended)
	if s.bulk {
		return
	}
	if moved || was.Of != at.Of {
		d.catalog.Gather(known)
	}
	s.passed(known, moved || !at.SameAs(was) || c.Arrived)
	d.catalog.Groups.Add(catalog.CohortRef(at.Space, seq))
	if c.Arrived {
		if u := d.catalog.Records.Units[c.To]; u != nil {
			if g := d.catalog.Holder(u); g != nil {
				d.catalog.Enqueue(g)
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
		s.d.catalog.RerenderIfStale(o) // it may have its share now, see WantedOptions
		if moved {
			s.settle(o, false)
			s.d.catalog.Note(o)
		}
		s.d.catalog.Pass(o)
	}
}

// renamed finds out again where records say that their objects are, after a SyncTarget came under a
// name that another one had.
func (s *step) renamed() {
	d := s.d
	for id, u := range d.catalog.Records.Units {
		if b, ok := d.catalog.Records.Index.Binding(id); ok && d.catalog.Follow(&u.Stored, b.Record) {
			s.decided(u, true)
		}
	}
	for seq, c := range d.catalog.Records.Cohorts {
		if is, ok := d.catalog.Records.Index.Cohort(seq); ok && d.catalog.Follow(&c.Stored, is.Record) {
			s.passed(c, true)
		}
	}
}

// sweepRecords removes what a snapshot did not mention, and finds the objects of the rest.
func (s *step) sweepRecords() {
	d := s.d
	for id, u := range d.catalog.Records.Units {
		if u.Revision != 0 && u.Epoch != d.catalog.Epoch {
			s.binding(id, catalog.Stored{}, nil)
		}
	}
	for seq, c := range d.catalog.Records.Cohorts {
		if c.Epoch != d.catalog.Epoch {
			d.catalog.Records.Index.DeleteCohort(seq)
			d.catalog.Records.ForgetCohort(c)
		}
	}
	d.catalog.GatherAll()
	for id, u := range d.catalog.Records.Units { // the records came before the SyncTargets that they name
		b, _ := d.catalog.Records.Index.Binding(id)
		d.catalog.Follow(&u.Stored, b.Record)
	}
	for seq, c := range d.catalog.Records.Cohorts {
		is, _ := d.catalog.Records.Index.Cohort(seq)
		d.catalog.Follow(&c.Stored, is.Record)
	}
	for _, sp := range d.catalog.Spaces {
		for _, n := range sp.Namespaces {
			d.catalog.Known(&n.Group)
		}
		for _, b := range sp.Placements {
			d.catalog.Known(&b.Group)
			s.redivided(b)
		}
		sp.EachObject(func(o *catalog.Object) {
			if o.Source != nil && o.Source.Kind == catalog.OfObject {
				d.catalog.Known(o.Source)
			}
		})
	}
}
