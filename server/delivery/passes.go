package delivery

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/scheduler"
	"skerry.dev/skerry/store"
)

// beginEvery is how often what must not be in two places begins in a unit. The first object begins at once,
// and what comes in the time after that is one cohort.
const beginEvery = time.Second

// passObject writes what is to be written about an object that is not with who wishes it.
func (d *Delivery) passObject(ctx context.Context, k store.Key) error {
	d.catalog.Lock()
	o := d.catalog.Find(k)
	if o == nil || !o.Namespace.Space.Known || d.catalog.AwaitsPolicy(o.Namespace.Space) {
		d.catalog.Unlock()
		return nil
	}
	p := d.catalog.Passing(o)
	from, g := d.catalog.Records.Of(o), o.Source
	if p == binding.Divide && from == (binding.Ref{}) {
		if wait := beginEvery - time.Since(g.Began); wait > 0 {
			d.catalog.Unlock()
			d.catalog.Groups.AddAfter(catalog.Ref{Kind: catalog.OfPass, Key: k}, wait)
			return nil
		}
	}
	var founds bool
	if p == binding.Divide || p == binding.Own {
		founds = !g.Founding && d.catalog.Deserted(g)
	}
	d.catalog.Unlock()
	if founds {
		// What it passes to is decided first, so that it can go there at once.
		g.Founding = true // this goroutine alone has it
		err := d.stepUnit(ctx, g.Ref())
		if g.Founding = false; err != nil {
			return err
		}
	}
	switch p {
	case binding.Remains, binding.NotYet:
		return nil
	case binding.Later:
		d.catalog.Notes.Add(k)
		return nil
	case binding.Own:
		if err := d.own(ctx, k, from, g); err != nil {
			return err
		}
		return d.passObject(ctx, k)
	}
	return d.divide(ctx, k, from)
}

// own writes the records that a decision about an object reads with the era of this leader, so that
// no deposed leader can change one between two writes.
func (d *Delivery) own(ctx context.Context, k store.Key, from binding.Ref, g *catalog.Group) error {
	d.catalog.RLock()
	space := k.Space
	var write []scheduler.Record
	var was []int64
	if c, ok := d.catalog.Records.Index.Cohort(from.Cohort); ok && c.Era != d.era {
		at := d.catalog.Records.Cohorts[c.Seq]
		c.Era = d.era
		write, was = append(write, scheduler.Record{Cohort: &c, Unit: at.Of}), append(was, at.Revision)
	}
	unit := func(id binding.UnitID, of v1alpha1.BindingUnit) {
		if b, _ := d.catalog.Records.Index.Binding(id); id != "" && b.Era != d.era {
			u := d.catalog.Records.Units[id]
			at := catalog.Stored{Of: of}
			if u != nil && u.Revision != 0 {
				at = u.Stored
			}
			b.Unit, b.Era = id, d.era
			write, was = append(write, scheduler.Record{Binding: &b, Unit: at.Of}), append(was, at.Revision)
		}
	}
	if from.Cohort == 0 {
		unit(from.Unit, v1alpha1.BindingUnit{})
	}
	unit(g.ID(), catalog.UnitOf(g.Ref().Key))
	d.catalog.RUnlock()
	for i := range write {
		if err := d.put(ctx, space, was[i], write[i]); err != nil {
			return err
		}
	}
	if len(write) == 0 {
		return fmt.Errorf("own the records of %s: %w", k, errNotYet)
	}
	return nil
}

// divide cuts off all objects that pass from the same record to the same unit, and takes their first
// step with the same write. Those of which nothing but the stamp is to change pass so, too, and what must
// not be in two places begins so: a write of an object may take long, and nothing here waits for one.
func (d *Delivery) divide(ctx context.Context, k store.Key, from binding.Ref) error {
	d.catalog.Lock()
	o := d.catalog.Find(k)
	if o == nil || d.catalog.Passing(o) != binding.Divide || d.catalog.Records.Of(o) != from {
		d.catalog.Unlock()
		return fmt.Errorf("pass %s: %w", k, errNotYet)
	}
	g, sp := o.Source, o.Namespace.Space
	var together []*catalog.Object
	d.catalog.Each(g, func(m *catalog.Object) {
		if m.Source == g && m.Finished == o.Finished && d.catalog.Passing(m) == binding.Divide &&
			d.catalog.Records.Of(m) == from && len(together) < binding.MaxMembers {
			together = append(together, m)
		}
	})
	members := make([]binding.ObjectID, 0, len(together))
	for _, m := range together {
		members = append(members, binding.ObjectID(m.UID))
	}
	c := binding.Cut(d.catalog.Records.Index.NextSeq(), d.catalog.Records.Index.Record(from), g.ID(), members, d.era)
	c.Ended = o.Finished
	if old, ok := d.catalog.Records.Index.Cohort(from.Cohort); ok {
		c.BreakFirst, c.Hooks = old.BreakFirst, old.Hooks
	}
	c.BreakFirst = c.BreakFirst || g.BreaksFirst() || sp.GroupOf(from.Unit).BreaksFirst()
	switch {
	case from.Unit == c.To && !c.Ended:
		c.Hooks = c.To
	case c.Hooks == c.To:
		c.Hooks = "" // they come back
	case c.Hooks == "" && len(sp.GroupOf(from.Unit).Hooks()) > 0:
		c.Hooks = from.Unit
	}
	l := d.cohortLook(&c, from, g, together)
	key := g.Ref().Key
	d.catalog.Unlock()
	d.ask(l)
	c = c.Begin(l.facts)
	d.cfg.Log.Info("objects pass", "to", key.String(), "objects", len(members), "cohort", c.Seq)
	// gofail: var beforeCohortCut struct{}
	if err := d.put(ctx, k.Space, 0, scheduler.Record{Cohort: &c, Unit: catalog.UnitOf(key)}); err != nil {
		return err
	}
	if from == (binding.Ref{}) {
		g.Began = time.Now() // this goroutine alone has it
	}
	// gofail: var cohortCutBeforeStep struct{}
	if from.Cohort != 0 {
		d.catalog.Groups.Add(catalog.CohortRef(k.Space, from.Cohort)) // it may have nothing left
	}
	return nil
}

// cohortLook begins a look at a cohort, as it is or is to be made. The lock must be held.
func (d *Delivery) cohortLook(c *binding.Cohort, of binding.Ref, g *catalog.Group, members []*catalog.Object) *look {
	l := d.observe(of, c.Record, g, members)
	f := &l.facts
	f.Ended, f.BreakFirst = c.Ended, c.BreakFirst || f.BreakFirst
	if c.Apart() {
		l.hooks = nil
	} else if sp := d.catalog.Spaces[members[0].Namespace.Space.Name]; len(l.hooks) == 0 {
		l.hooks = sp.GroupOf(c.Hooks).Hooks()
	}
	l.restart(d.catalog)
	d.fence(l, g, members)
	to, _ := d.catalog.Records.Index.Binding(c.To)
	wish := binding.NoOpinion
	var by placement.Wish
	rests := true
	if g != nil {
		by, rests = g.Wish(), g.Rests
		if by.None || by.Nowhere() && len(to.Here()) == 0 && !(g.Kind == catalog.OfPlacement && g.Book.Rule == nil) {
			wish = binding.Nowhere
		}
	}
	c.Aim(f, to, wish, f.BreakFirst && g != nil && g.BreaksFirst() || l.stops(), rests)
	if soles := to.Soles(); len(soles) > 0 {
		f.SoleAt = soles[len(soles)-1]
	}
	aim, wanted := f.Wish, d.catalog.Names(f.Wanted)
	f.Wanted = nil
	d.want(l, aim, wanted, nil, nil, try(members, by, g))
	l.leaveRestarting()
	if aim == binding.Somewhere && len(f.Wanted) == 0 {
		f.Wish = binding.NoOpinion
	}
	if c.Ended {
		for i := range f.Targets {
			f.Targets[i].Leave = binding.MayStay
		}
	}
	return l
}

// stepCohort records the next step of a cohort.
func (d *Delivery) stepCohort(ctx context.Context, r catalog.Ref) error {
	seq, _ := strconv.ParseUint(r.Key.Name, 10, 64)
	d.catalog.Lock()
	known := d.catalog.Records.Cohorts[seq]
	c, counts := d.catalog.Records.Index.Cohort(seq)
	if known == nil || !counts || c.Arrived {
		d.forgetCohort(r, seq)
		d.catalog.Unlock()
		return nil
	}
	sp := d.catalog.Spaces[known.Space]
	members := d.catalog.CohortMembers(known, c.Ended)
	if len(members) == 0 || sp == nil || !sp.Known || d.catalog.AwaitsPolicy(sp) {
		d.forgetCohort(r, seq)
		d.catalog.Unlock()
		return nil
	}
	for _, o := range members {
		switch d.catalog.Passing(o) {
		case binding.Remains, binding.NotYet, binding.Later:
		default:
			d.catalog.Unlock()
			if err := d.passObject(ctx, o.Key()); err != nil {
				return err
			}
			return fmt.Errorf("decide %s: %w", r, errNotYet)
		}
	}
	to, exists := d.catalog.Records.Index.Binding(c.To)
	at := known.Stored
	var g *catalog.Group
	if u := d.catalog.Records.Units[c.To]; u != nil {
		g = d.catalog.Holder(u)
	}
	if g == nil && members[0].Source != nil && members[0].Source.ID() == c.To {
		g = members[0].Source
	}
	l, about := d.cohortLook(&c, binding.Ref{Cohort: seq}, g, members), members[0].Event()
	d.catalog.Unlock()
	d.ask(l)
	d.awaitReadiness(r, g, l)
	owned := to
	owned.Era = c.Era
	if would := c.Step(l.facts, owned); would.Arrived && g != nil && (!exists || to.Era != c.Era) {
		if err := d.own(ctx, members[0].Key(), binding.Ref{Cohort: seq}, g); err != nil {
			return err
		}
		return d.stepCohort(ctx, r)
	}
	next := c.Step(l.facts, to)
	if next.Arrived != c.Arrived || !next.Equal(c.Record) {
		next.Era = d.era
		// gofail: var beforeCohortStep struct{}
		if err := d.put(ctx, at.Space, at.Revision, scheduler.Record{Cohort: &next, Unit: at.Of}); err != nil {
			return err
		}
		// gofail: var cohortStepBeforeStamp struct{}
		d.tellHooks(l, next.Record, about)
	}
	d.runHooks(ctx, l, r, next.Record)
	if !next.Arrived {
		d.wakeAt(r, next.Record, l.facts)
		d.wakeFence(r, l, next.Record)
	}
	d.say(d.passingWords(seq, g, l, next, to, members)...)
	return nil
}

// ForgetCohort drops what is kept of a cohort that takes no more steps. The lock must be held.
func (d *Delivery) forgetCohort(r catalog.Ref, seq uint64) {
	delete(d.catalog.Passes, seq)
	catalog.Restop(d.catalog)
	delete(d.readiness, r)
	d.hooks.forget(r)
}
