package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/scheduler"
	"skerry.dev/skerry/store"
)

// errNotYet is returned while something else is to be written first.
var errNotYet = errors.New("something else is written first")

// plan is one look at a group: what is, and what is wanted.
type plan struct {
	ref        catalog.Ref
	group      *catalog.Group
	key        store.Key // of the object that holds the wish
	apiVersion string
	kindName   string
	uid        string
	version    string // resourceVersion
	generation int64
	unit       binding.UnitID
	at         catalog.Stored // the Binding as it is stored
	look       *look
	choice     placement.Choice
	stays      []placement.Stay // what it has to leave and does not
	gone       []string         // what it leaves though nothing replaces it
	instead    bool             // others were chosen in place of what was given up
	first      bool             // what is left is gone before something is joined
	turns      []string         // drained targets that it would begin to leave
	turned     string           // why it waits for a turn to do so
	gathers    bool             // others that leave them are waited for, to go in order
	unseen     string           // a target that it would leave first has not said what it has
	conditions catalog.Conditions
	conflict   string
	status     map[string]any // of a Placement
	releases   bool           // it has releases
	problem    string
	none       bool // it is explicitly wished to be nowhere
	nowhere    bool // nothing says where to
	before     []*catalog.Object
	leftFor    string // why targets were left in a step before, where that has not been said
	wakes      uint64
}

// decide looks at one group, cohort or object, and records its next step, if there is one. It
// returns an error when the step could not be recorded and should be tried again.
func (d *Delivery) decide(ctx context.Context, r catalog.Ref) error {
	switch r.Kind {
	case catalog.OfTarget:
		d.leaveTarget(r.Key.Name)
		return nil
	case catalog.OfPass:
		return d.passObject(ctx, r.Key)
	case catalog.OfCohort:
		return d.stepCohort(ctx, r)
	}
	return d.stepUnit(ctx, r)
}

// stepUnit records the next step of a unit's Binding.
func (d *Delivery) stepUnit(ctx context.Context, r catalog.Ref) error {
	p := d.look(r)
	if p == nil {
		d.settled(r)
		delete(d.readiness, r)
		d.hooks.forget(r)
		d.moves.forget(r)
		d.moves.said.forget(d, r)
		d.standbys.forget(d, r)
		d.turns.forget(r)
		return nil
	}
	for _, o := range p.before {
		if err := d.passObject(ctx, o.Key()); err != nil {
			return err
		}
	}
	if len(p.before) > 0 {
		return fmt.Errorf("decide %s: %w", r, errNotYet)
	}
	if !p.look.rests() {
		d.ask(p.look)
	}
	d.awaitReadiness(r, p.group, p.look)
	next := d.turns.next(p)
	begun := d.turns.parting(p, next)
	if p.gathers {
		d.catalog.Groups.AddAfter(r, turnGather)
		return nil
	}
	if len(begun) > 0 {
		if err := d.part(ctx, begun); err != nil {
			return err
		}
		return d.stepUnit(ctx, r)
	}
	d.turns.follow(p, next)
	p.first = p.look.breaksFirst(next)
	step := p.step(d, next)
	known := p.at.Revision != 0
	if !next.Equal(p.look.record) || !known && len(next.Places) > 0 {
		next.Era = d.era
		// gofail: var beforeDecision struct{}
		if err := d.put(ctx, p.key.Space, p.at.Revision, scheduler.Record{
			Binding: &binding.Binding{Unit: p.unit, Record: next}, Unit: catalog.UnitOf(p.key),
		}); err != nil {
			return err
		}
		d.tellHooks(p.look, next, p.event())
		// gofail: var decidedBeforeFeed struct{}
		d.cfg.Log.Info("decision", "of", p.key.String(), "phase", string(step.Phase),
			"from", placement.Join(p.names(p.look.record.Here())), "to", placement.Join(step.Decision))
	}
	changed := !next.SamePlaces(p.look.record)
	d.tell(p, step, changed)
	d.underWay(p, step)
	d.wakeAt(p.ref, next, p.look.facts)
	d.wakeFence(p.ref, p.look, next)
	d.runHooks(ctx, p.look, r, next)
	replicate(ctx, d, p, next) // ends before a move of the same volumes begins
	d.moves.run(ctx, p, next)
	d.moves.said.tell(d, p, next)
	d.wakeLater(p)
	d.rests(p, next)
	d.views.put(p, step)
	return nil
}

// put makes one write of a record certain, and waits until the catalog has it.
func (d *Delivery) put(ctx context.Context, space string, was int64, r scheduler.Record) error {
	d.catalog.RLock()
	value, err := r.Encode(&d.catalog.Records.Targets)
	d.catalog.RUnlock()
	if err != nil {
		return err
	}
	if err := d.pace.take(space, r); err != nil {
		return err
	}
	return d.write(ctx, recordKey(space, r), value, was)
}

func recordKey(space string, r scheduler.Record) store.Key {
	switch {
	case r.Term != nil:
		return scheduler.TermKey()
	case r.Cohort != nil:
		return scheduler.CohortKey(space, r.Cohort.Seq)
	}
	return scheduler.BindingKey(space, r.Binding.Unit)
}

func (d *Delivery) write(ctx context.Context, k store.Key, value []byte, was int64) error {
	revision, err := scheduler.Write(ctx, d.cfg.Records, k, value, was)
	if err != nil {
		return err
	}
	return d.seen(ctx, revision)
}

// seen waits until the catalog has all writes up to a revision.
func (d *Delivery) seen(ctx context.Context, revision int64) error {
	for {
		d.catalog.RLock()
		have, next := d.catalog.Revision, d.catalog.Applied
		d.catalog.RUnlock()
		if have >= revision {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-next:
		}
	}
}

// look reads everything about a group that the catalog knows. It is nil when there is nothing to
// decide.
func (d *Delivery) look(r catalog.Ref) *plan {
	d.catalog.Lock()
	defer d.catalog.Unlock()
	g := d.catalog.Group(r)
	if g == nil || g.ID() == "" || !g.Space.Known || d.catalog.AwaitsPolicy(g.Space) {
		return nil
	}
	p := &plan{ref: r, group: g, key: r.Key, unit: g.ID(), wakes: g.Wakes}
	if !d.holderOf(p) || d.gathers(r, g) {
		return nil
	}
	b, _ := d.catalog.Records.Index.Binding(p.unit)
	if u := d.catalog.Records.Units[p.unit]; u != nil {
		p.at = u.Stored
	}
	members := d.members(p)
	if len(p.before) > 0 {
		return p
	}
	wish := g.Wish()
	if p.at.Revision == 0 && len(members) == 0 &&
		(wish.Nowhere() || g.Kind == catalog.OfNamespace && g.WaitsForContent() && !d.catalog.Inhabited(g)) {
		return nil
	}
	p.look = d.observe(binding.Ref{Unit: p.unit}, b.Record, g, members)
	f := &p.look.facts
	f.Empty = len(members) == 0
	p.look.restart(d.catalog)
	d.fence(p.look, g, members)
	rule := g.Rule()
	f.Suspended = rule != nil && rule.Suspended
	world, current := d.catalog.WorldOf(g), d.catalog.Names(b.Here())
	again := try(members, wish, g)
	p.none = wish.None && p.problem == ""
	p.nowhere = wish.Nowhere() && p.problem == ""
	switch {
	case p.problem != "":
	case g.Kind == catalog.OfObject && g.Object.Mover() != nil:
		d.moves.choose(p, g.Object.Mover(), current)
	case g.Kind == catalog.OfObject && g.Object.Hook != nil:
		d.chooseHook(p, g.Object.Hook)
	default:
		d.choose(p, wish, world, current)
		d.chooseAgain(p, wish, world, current, again)
		steer(d, p, members)
	}
	is := binding.NoOpinion
	if p.none {
		is = binding.Nowhere
	} else if len(p.choice.Targets) > 0 {
		is = binding.Somewhere
	}
	d.want(p.look, is, p.choice.Targets, p.gone, p.choice.Left, again)
	p.look.leaveRestarting()
	g.Moving, d.catalog.Deciding = true, r // until it is known that it rests
	if g.Kind == catalog.OfPlacement {
		p.conflict = d.contested(g)
	}
	return p
}

// lacks reports whether a target is wanted that neither has the group nor was given up.
func (p *plan) lacks(next binding.Record) bool {
	f := &p.look.facts
	return f.Wish == binding.Somewhere && slices.ContainsFunc(f.Wanted, func(t binding.TargetID) bool {
		return !next.Has(t) && !slices.ContainsFunc(next.GaveUp, func(g binding.GaveUp) bool { return g.Target == t })
	})
}

// rests takes over whether a group rests, unless it was woken meanwhile.
func (d *Delivery) rests(p *plan, next binding.Record) {
	d.catalog.Lock()
	defer d.catalog.Unlock()
	g := p.group
	equal := next.Equal(p.look.record) && p.unseen == ""
	g.GaveUp = len(next.GaveUp) > 0
	g.Moving = !next.Settled() || p.unseen != "" || p.lacks(next)
	if !equal || g.Wakes != p.wakes || !next.Settled() || g.Rests {
		return
	}
	g.Rests = true
	if g.BreaksFirst() {
		g.Members(func(o *catalog.Object) bool { d.catalog.Pass(o); return true })
	}
	for c := range d.catalog.Records.Open[g.ID()] {
		d.catalog.Groups.Add(catalog.CohortRef(c.Space, c.Seq)) // it may have waited for that
	}
}

// next is the next state of a unit's record. Of what must not be in two places nothing is left while
// it has not said what it has: its silence would mean nothing then. No hook begins for that.
func (p *plan) next() binding.Record {
	l := p.look
	next := binding.Next(l.record, l.facts)
	if !l.facts.BreakFirst && len(l.absent) == 0 || l.facts.Wish != binding.Somewhere || l.facts.Empty {
		return next
	}
	for _, place := range next.Places {
		if place.Leaving == binding.Replaced && l.beginsToLeave(place) && place.For == 0 &&
			l.unseen[place.Target] != "" && !l.speaksNot(place.Target) {
			p.unseen = fmt.Sprintf("removed from %s once it has said what it has: %s",
				l.names[place.Target], l.unseen[place.Target])
			l.facts.Wish, l.facts.Wanted = binding.NoOpinion, nil
			return binding.Next(l.record, l.facts)
		}
	}
	return next
}

// beginsToLeave reports whether a place of the next state is one that the record has, which is taken off with this
// step, or whose first hook is run.
func (l *look) beginsToLeave(p binding.Place) bool {
	return slices.ContainsFunc(l.record.Places, func(is binding.Place) bool {
		return is.Target == p.Target && !is.Off && (p.Off || is.Hooks.Began == 0 && p.Hooks.Began != 0)
	})
}

// holderOf fills in the object that holds the group's wish; it is false when that is going away.
func (d *Delivery) holderOf(p *plan) bool {
	g := p.group
	switch g.Kind {
	case catalog.OfNamespace:
		o := g.Namespace.Self
		p.apiVersion, p.kindName, p.uid, p.conditions = "v1", "Namespace", o.UID, g.Namespace.State
		p.version = strconv.FormatInt(o.Revision, 10)
		return !o.Leaving
	case catalog.OfPlacement:
		b := g.Book
		p.apiVersion, p.kindName = v1alpha1.GroupVersion.String(), "Placement"
		p.uid, p.generation, p.problem = b.UID, b.Generation, b.Problem
		p.version, p.status, p.releases = strconv.FormatInt(b.Revision, 10), b.Status, b.Rollout != nil
		return true
	default:
		o := g.Object
		p.apiVersion, p.kindName, p.uid, p.generation = o.Kind.ApiVersion, o.Kind.Name, o.UID, o.Generation
		p.version = strconv.FormatInt(o.Revision, 10)
		return !o.Leaving
	}
}

// wakeAt looks again at a record when the time of what it waits for is over.
func (d *Delivery) wakeAt(r catalog.Ref, next binding.Record, f binding.Facts) {
	for _, w := range binding.Waits(next, f) {
		if w.Until != 0 {
			d.catalog.Groups.AddAfter(r, max(time.Until(time.Unix(w.Until, 0)), time.Second))
		}
	}
}

// Reported tells that a target has reported something new about some objects. It wakes what waits for
// it.
func (d *Delivery) Reported(target string, keys []store.Key) {
	d.Dispel(target, keys)
	var decides []store.Key
	d.catalog.RLock()
	for _, k := range keys {
		d.podsChanged(k)
		o := d.catalog.Find(k)
		if o == nil || o.Source == nil {
			continue
		}
		d.catalog.WakeMoving(o)
		d.catalog.WakeServed(o)
		if o.Source.Kind == catalog.OfPlacement {
			decides = append(decides, o.Source.Ref().Key)
			d.catalog.WakeRollout(o.Source)
		}
	}
	d.catalog.RUnlock()
	for _, k := range decides {
		d.ToldPlacement(k, target)
	}
}

// Confirmed tells that a target has confirmed up to a revision, as Config.Confirm asked: what it
// reports now, it reports knowing that.
func (d *Delivery) Confirmed(target string, revision int64) {
	d.Reported(target, d.Doubts.Confirm(target, revision))
	d.catalog.RLock()
	defer d.catalog.RUnlock()
	for r := range d.catalog.Moves {
		d.catalog.Groups.Add(r)
	}
	if g := d.catalog.Group(d.catalog.Deciding); g != nil && g.Moving {
		d.catalog.Groups.Add(g.Ref()) // nothing says yet what it waits for
	}
	for _, open := range d.catalog.Records.Open {
		for c := range open {
			d.catalog.Groups.Add(catalog.CohortRef(c.Space, c.Seq))
		}
	}
}
