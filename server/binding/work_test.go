package binding_test

import (
	"fmt"
	"slices"

	. "skerry.dev/skerry/server/binding"
)

// work finds something to write and issues it. It reports false when there is nothing to do. turn
// says where it begins to look.
func (l *leader) work(turn int) bool {
	if l.pending != nil {
		return false
	}
	if !l.open {
		return l.takeOver()
	}
	l.runHooks()
	if owed := l.owed; owed != "" {
		l.owed = ""
		if b, ok := l.x.Binding(owed); ok && l.stepUnit(b) {
			return true
		}
	}
	tasks := []func(int) bool{l.found, l.pass, l.stepBinding, l.stepCohort, l.arrive, l.retire}
	for i := range tasks {
		if tasks[(turn+i)%len(tasks)](turn) {
			return true
		}
	}
	return false
}

// takeOver takes the term, makes the cohorts that count its own, and opens the term.
func (l *leader) takeOver() bool {
	v := l.view()
	if v.term.Era != l.era {
		l.catchUp(len(l.w.log))
		l.putTerm("takes the term", l.view().term.Take(l.era))
		return true
	}
	for i := range v.cohorts {
		c := v.cohorts[i].Cohort
		if v.term.Counts(&c) && c.Era != l.era {
			c.Era = l.era
			l.putCohort(fmt.Sprint("adopts cohort ", c.Seq), c.Seq, &c)
			return true
		}
	}
	if !v.term.Open {
		l.putTerm("opens the term", v.term.Opened())
		return true
	}
	l.open = true
	return false
}

func (l *leader) subject(t *thingRow) Subject {
	return Subject{ID: t.uid, Stamp: t.stamp, Wished: l.view().wished(t), Once: t.once, Ended: t.ended,
		Parts: l.parts[t.uid]}
}

// atRest reports whether a unit would take no step now. What must not be in two places joins no
// other.
func (l *leader) atRest(b Binding) bool {
	return Next(b.Record, l.bindingFacts(b.Unit, b.Record)).Equal(b.Record)
}

// pass lets objects pass to the units that wish them.
func (l *leader) pass(turn int) bool {
	v := l.view()
	for i := range v.things {
		t := &v.things[(i+turn)%things]
		if t.uid == "" {
			continue
		}
		s := l.subject(t)
		switch l.x.Pass(s) {
		case Later:
			if l.stamping(t.uid) {
				continue
			}
			if l.putStamp(t.uid, s.Wished); turn%2 == 1 {
				l.letGo()
			}
			return true
		case Own:
			return l.own(l.x.Of(t.uid, t.stamp))
		case Divide:
			l.divide(s)
			return true
		}
	}
	return false
}

// own writes a record with the leader's era, if it is another's.
func (l *leader) own(r Ref) bool {
	if c, ok := l.x.Cohort(r.Cohort); ok && c.Era != l.era {
		c.Era = l.era
		l.putCohort(fmt.Sprint("owns cohort ", c.Seq), c.Seq, &c)
		return true
	}
	if b, _ := l.x.Binding(r.Unit); r.Unit != "" && b.Era != l.era {
		b.Unit, b.Era = r.Unit, l.era
		l.putBinding("owns "+string(b.Unit), b.Unit, &b)
		return true
	}
	return false
}

// divide cuts off all objects that pass from the same record to the same unit, and takes their
// first step with the same write.
func (l *leader) divide(s Subject) {
	v := l.view()
	from := l.x.Of(s.ID, s.Stamp)
	c := Cohort{BreakFirst: l.breaksFirst(from.Unit)}
	var members []ObjectID
	for i := range v.things {
		t := &v.things[i]
		if t.uid == "" {
			continue
		}
		if o := l.subject(t); o.Wished == s.Wished && o.Ended == s.Ended && l.x.Of(o.ID, o.Stamp) == from &&
			l.x.Pass(o) == Divide {
			members = append(members, o.ID)
			c.BreakFirst = c.BreakFirst || t.once
		}
	}
	seq := l.x.NextSeq()
	next := Cut(seq, l.x.Record(from), s.Wished, members, l.era)
	if next.Ended = s.Ended; !s.Ended && from.Unit == s.Wished {
		next.Hooks = s.Wished
	}
	if old, ok := l.x.Cohort(from.Cohort); ok {
		c.BreakFirst = c.BreakFirst || old.BreakFirst
	}
	next.BreakFirst = c.BreakFirst
	next = next.Begin(l.cohortFacts(next, from))
	l.putCohort(fmt.Sprintf("cuts %v off %v for %s: %v", members, from, s.Wished, next.Places), seq, &next)
}

func (l *leader) breaksFirst(id UnitID) bool {
	b := l.view().book(id)
	return b != nil && b.breakFirst
}

// found makes the Binding of a unit that has none and is wished.
func (l *leader) found(turn int) bool {
	v := l.view()
	for i := range v.things {
		t := &v.things[(i+turn)%things]
		if t.uid == "" {
			continue
		}
		id := v.wished(t)
		if _, ok := l.x.Binding(id); ok || id == "" || l.passing(Ref{Unit: id}, "") {
			continue
		}
		b := Binding{Unit: id, Record: Next(Record{Era: l.era}, l.bindingFacts(id, Record{}))}
		l.putBinding(fmt.Sprintf("founds %s: %v", id, b.Places), id, &b)
		return true
	}
	return false
}

// passing reports whether an object must pass first that a record decides about, or that comes to a
// unit.
func (l *leader) passing(r Ref, to UnitID) bool {
	v := l.view()
	for i := range v.things {
		t := &v.things[i]
		if t.uid == "" {
			continue
		}
		s, at := l.subject(t), l.x.Of(t.uid, t.stamp)
		if at == (Ref{}) || at != r && (to == "" || s.Wished != to) { // nobody waits for what is nowhere
			continue
		}
		if p := l.x.Pass(s); p != Remains && p != NotYet && p != Later {
			return true
		}
	}
	return false
}

func (l *leader) stepBinding(turn int) bool {
	v := l.view()
	for i := range v.bindings {
		if l.stepUnit(v.bindings[(i+turn)%len(v.bindings)].Binding) {
			return true
		}
	}
	return false
}

func (l *leader) stepUnit(b Binding) bool {
	if l.passing(Ref{Unit: b.Unit}, b.Unit) {
		return false
	}
	facts := l.bindingFacts(b.Unit, b.Record)
	if l.part(b, facts) {
		return true
	}
	next := Next(b.Record, facts)
	if next.Equal(b.Record) || next.MayReturn() && !b.MayReturn() && l.admitting(b.Unit) {
		return false
	}
	next.Era = l.era
	l.putBinding(fmt.Sprintf("moves %s: %v", b.Unit, next), b.Unit, &Binding{Unit: b.Unit, Record: next})
	return true
}

func (l *leader) stepCohort(turn int) bool {
	v := l.view()
	for i := range v.cohorts {
		c := v.cohorts[(i+turn)%len(v.cohorts)].Cohort
		r := Ref{Cohort: c.Seq}
		if !v.term.Counts(&c) || c.Arrived || len(l.members(r)) == 0 || l.passing(r, "") {
			continue
		}
		to, _ := l.x.Binding(c.To)
		next := c.Step(l.cohortFacts(c, r), to)
		if next.Arrived == c.Arrived && next.Equal(c.Record) {
			continue
		}
		l.putCohort(fmt.Sprintf("moves cohort %d: %v, arrived %v", c.Seq, next.Record, next.Arrived), c.Seq, &next)
		return true
	}
	return false
}

// arrive makes the leader own the units at which cohorts could arrive.
func (l *leader) arrive(turn int) bool {
	v := l.view()
	for i := range v.cohorts {
		c := v.cohorts[(i+turn)%len(v.cohorts)].Cohort
		to, ok := l.x.Binding(c.To)
		to.Era = c.Era
		if _, would := c.Arrive(to); v.term.Counts(&c) && ok && would && l.own(Ref{Unit: c.To}) {
			return true
		}
	}
	return false
}

// retire deletes records that nothing has needed for some time.
func (l *leader) retire(turn int) bool {
	v := l.view()
	old := func(key any, needed bool) bool {
		since, known := l.unneeded[key]
		switch {
		case needed:
			delete(l.unneeded, key)
		case !known:
			l.unneeded[key] = l.w.now
		}
		return !needed && known && l.w.now-since >= retireAfter
	}
	for i := range v.cohorts {
		c := &v.cohorts[(i+turn)%len(v.cohorts)]
		if old(c.Seq, !l.x.Done(c.Seq, v)) {
			l.putCohort(fmt.Sprint("deletes cohort ", c.Seq), c.Seq, nil)
			return true
		}
	}
	for i := range v.bindings {
		b := &v.bindings[(i+turn)%len(v.bindings)]
		needed := l.x.Needed(b.Unit)
		for j := range v.things {
			t := &v.things[j]
			needed = needed || t.uid != "" && (t.stamp == b.Unit || v.wished(t) == b.Unit)
		}
		if old(b.Unit, needed) {
			l.putBinding("deletes "+string(b.Unit), b.Unit, nil)
			return true
		}
	}
	return false
}

// members are the objects that a record decides about.
func (l *leader) members(r Ref) (out []*thingRow) {
	v := l.view()
	for i := range v.things {
		if t := &v.things[i]; t.uid != "" && l.x.Of(t.uid, t.stamp) == r {
			out = append(out, t)
		}
	}
	return out
}

// living are those that have not ended.
func (l *leader) living(r Ref) []*thingRow {
	return slices.DeleteFunc(l.members(r), func(t *thingRow) bool { return t.ended })
}

func (l *leader) bindingFacts(id UnitID, r Record) Facts {
	v := l.view()
	w := v.wishOf(id)
	members := l.living(Ref{Unit: id})
	f := Facts{Empty: len(members) == 0, BreakFirst: l.breaksFirst(id)}
	if b := v.book(id); b != nil {
		f.Suspended = b.suspended
	}
	l.fill(&f, r, Ref{Unit: id}, members, w, v.hooksOf(id))
	f.Wish, f.Wanted = v.choose(w, r, func(t TargetID) bool { return gaveUp(r, &f, t) })
	for _, g := range r.GaveUp {
		if !r.Settled() && gaveUp(r, &f, g.Target) && !slices.Contains(f.Wanted, g.Target) {
			f.Passed = append(f.Passed, g.Target)
		}
	}
	return f
}

func gaveUp(r Record, f *Facts, t TargetID) bool {
	return slices.ContainsFunc(r.GaveUp, func(g GaveUp) bool {
		return g.Target == t && slices.ContainsFunc(f.Targets, func(k Target) bool { return k.ID == t && k.Try == g.Try })
	})
}

// cohortFacts aims at the places of the unit that the cohort passes to. reported is the record whose
// members it has.
func (l *leader) cohortFacts(c Cohort, reported Ref) Facts {
	v := l.view()
	var members []*thingRow
	for _, o := range c.Members {
		if t := v.thing(o); t != nil && (c.Ended || !t.ended) && l.x.Of(o, t.stamp) == reported {
			members = append(members, t)
		}
	}
	w := v.wishOf(c.To)
	f := Facts{Ended: c.Ended, BreakFirst: c.BreakFirst || l.breaksFirst(c.To)}
	wish := NoOpinion
	if w.kind == nowhere {
		wish = Nowhere
	}
	once := slices.ContainsFunc(members, func(t *thingRow) bool { return t.once })
	to, _ := l.x.Binding(c.To)
	c.Aim(&f, to, wish, once, once && l.atRest(to))
	l.fill(&f, c.Record, reported, members, w, v.cohortHooks(&c))
	return f
}

// silent reports whether a target has no session.
func (l *leader) silent(t TargetID) bool { return l.w.sites[t] == nil || l.w.sites[t].cut }

// fill says what is known of the targets.
func (l *leader) fill(f *Facts, r Record, reported Ref, members []*thingRow, w wish, hooks uint8) {
	v := l.view()
	l.decides = f
	f.Now, f.Timeout = l.w.now, timeout
	try := uint64(w.kind)*31 + uint64(w.names)*1031 + uint64(w.count)*100003
	f.Once = f.BreakFirst
	for _, m := range members {
		f.BreakFirst, f.Once = f.BreakFirst || m.once, f.Once || m.once || m.leased
		try += m.version * 7919
	}
	for i := range v.targets {
		if t := &v.targets[i]; t.id != 0 {
			known := Target{ID: t.id, Leave: t.leave, Away: l.silent(t.id), Try: try + t.touched*104729, Fence: l.fence(t.id, f.Once)}
			if !l.w.dead(t.id) {
				known.Hooks, known.Hook = hooks, l.hookState(reported, r, t.id)
			}
			known.Pinned = known.Fence != RunsNot && l.begun(r, reported, t.id, members)
			f.Targets = append(f.Targets, known)
		}
	}
	slices.SortFunc(f.Targets, func(a, b Target) int { return int(a.ID) - int(b.ID) })
	f.Observe(r, len(members), &reports{l, reported, members})
	for _, t := range f.Targets {
		l.w.check.counted(l, t, r, members)
	}
}

// fence is what counts instead of the word of a target that is away.
func (l *leader) fence(t TargetID, once bool) Fence {
	switch s := l.w.sites[t]; {
	case s == nil || !s.cut || !once:
		return Speaks
	case s.expired(l.w.now):
		return RunsNot
	}
	return MayRun
}
