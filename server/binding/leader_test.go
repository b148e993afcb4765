package binding_test

import (
	"slices"

	. "skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/store"
)

// The times of the small world, in seconds.
const (
	timeout     = 600
	lifetime    = 200 // of a write that nobody waits for
	retireAfter = 300
)

// leader is a process that decides. It sees the store as it was at its cursor.
type leader struct {
	w         *world
	era       store.Era
	cursor    int
	x         *Index
	inbox     map[TargetID]report
	confirmed map[TargetID]int64
	pending   *attempt
	open      bool
	unneeded  map[any]int64     // records that nothing needs, and since when
	decides   *Facts            // of the last step that was thought of
	parts     map[ObjectID]bool // what is being cut off because it has begun
	owed      UnitID            // what it was cut off from takes its step next
}

// attempt is a write on its way to the store.
type attempt struct {
	what    string
	by      *leader // nil for a user's
	view    *state
	on      [things]uint64 // the targets that have each object, as its leader saw it
	know    *knowledge
	dead    uint64 // targets whose lease had ended
	members int    // of the record that it writes
	away    uint64 // targets that had no session when it was issued
	facts   *Facts // of the step that it takes
	expires int64
	landed  bool
	ok      bool
	run     func() bool
	stamps  ObjectID // the object that the write stamps
	// admits is the unit of the object that the write creates, era that of the leader who stamped it.
	admits UnitID
	era    store.Era
}

// admitting reports whether an object of a unit is on its way to the store.
func (l *leader) admitting(id UnitID) bool {
	return slices.ContainsFunc(l.w.flying, func(a *attempt) bool { return a.admits == id && a.era == l.era })
}

// letGo goes on while a write is on its way, as a leader does that has somebody else write stamps.
func (l *leader) letGo() {
	l.w.fly(l.pending)
	l.pending = nil
}

// stamping reports whether a stamp of an object is on its way, which nobody waits for.
func (l *leader) stamping(id ObjectID) bool {
	return slices.ContainsFunc(l.w.flying, func(a *attempt) bool { return a.stamps == id && a.by == l })
}

// lead starts a process. Its inbox is kept by a restart, and lost to another replica.
func (w *world) lead(inbox map[TargetID]report) {
	if old := w.leader; old != nil {
		if old.pending != nil && !old.pending.landed {
			w.fly(old.pending)
		}
		w.check.sameAsFresh(old)
	}
	w.forgetHooks()
	if inbox == nil {
		inbox = map[TargetID]report{}
	}
	w.leader = &leader{w: w, era: w.era(), inbox: inbox, confirmed: map[TargetID]int64{}, unneeded: map[any]int64{}}
	w.leader.reload()
	for _, s := range w.sites {
		s.queue = nil
	}
}

func (w *world) fly(a *attempt) {
	a.expires = w.now + lifetime
	w.flying = append(w.flying, a)
}

func (l *leader) view() *state { return l.w.log[l.cursor].state }

// reload reads everything, as a start does.
func (l *leader) reload() {
	l.cursor = len(l.w.log) - 1
	l.x = indexOf(l.view())
}

// catchUp takes over some events.
func (l *leader) catchUp(n int) {
	for ; n > 0 && l.cursor < len(l.w.log)-1; n-- {
		l.cursor++
		apply(l.x, l.w.log[l.cursor])
	}
}

// issue sends a write.
func (l *leader) issue(what string, run func() bool) {
	l.w.tale("leader %d issues %s", l.era, what)
	l.pending = &attempt{what: what, by: l, view: l.view(), on: feeds(l.view(), l.x), know: l.knows(), away: l.away(),
		facts: l.decides, dead: l.w.deadOnes(), run: run}
}

// away are the targets that have no session, as bits.
func (l *leader) away() (bits uint64) {
	for id, s := range l.w.sites {
		if s.cut {
			bits |= 1 << id
		}
	}
	return bits
}

// land lets the store answer an attempt.
func (w *world) land(a *attempt) {
	if !a.landed {
		w.check.by = a
		a.landed, a.ok = true, a.run()
		w.check.by = nil
		w.tale("store: %s: %v", a.what, a.ok)
	}
}

// answered takes the answer of a write. What was written is seen before anything else is decided.
func (l *leader) answered() {
	if l.pending != nil && l.pending.landed {
		l.pending = nil
		l.catchUp(len(l.w.log))
	}
}

// unanswered sends a write again of which no answer has come. It must not be enough to read back:
// the first one may still arrive.
func (l *leader) unanswered() {
	if a := l.pending; a != nil && !a.landed {
		l.w.fly(a)
		again := *a
		l.pending = &again
	}
}

// putTerm stores the term if it is as it was read.
func (l *leader) putTerm(what string, t Term) {
	mod := l.view().termMod
	l.issue(what, func() bool {
		if l.w.head().termMod != mod {
			return false
		}
		l.w.commit(event{what: ofTerm}, l.w.check.by, func(s *state) { s.term, s.termMod = t, s.rev })
		return true
	})
}

// putBinding stores a Binding if it is as it was read; nil deletes it.
func (l *leader) putBinding(what string, id UnitID, b *Binding) {
	var mod int64
	if old := l.view().binding(id); old != nil {
		mod = old.mod
	}
	l.issue(what, func() bool {
		if now := l.w.head().binding(id); (now == nil) != (mod == 0) || now != nil && now.mod != mod {
			return false
		}
		l.w.commit(event{what: ofBinding, unit: id}, l.w.check.by, func(s *state) {
			s.bindings = slices.DeleteFunc(slices.Clone(s.bindings), func(r bindingRow) bool { return r.Unit == id })
			if b != nil {
				s.bindings = append(s.bindings, bindingRow{*b, s.rev})
			}
		})
		return true
	})
	l.pending.members = len(l.living(Ref{Unit: id}))
}

// putCohort stores a cohort if it is as it was read; nil deletes it.
func (l *leader) putCohort(what string, seq uint64, c *Cohort) {
	var mod int64
	if old := l.view().cohort(seq); old != nil {
		mod = old.mod
	}
	l.issue(what, func() bool {
		if now := l.w.head().cohort(seq); (now == nil) != (mod == 0) || now != nil && now.mod != mod {
			return false
		}
		l.w.commit(event{what: ofCohort, seq: seq}, l.w.check.by, func(s *state) {
			s.cohorts = slices.DeleteFunc(slices.Clone(s.cohorts), func(r cohortRow) bool { return r.Seq == seq })
			if c != nil {
				s.cohorts = append(s.cohorts, cohortRow{*c, s.rev})
			}
		})
		return true
	})
	l.pending.members = len(l.living(Ref{Cohort: seq}))
}

// putStamp stamps an object if it is as it was read.
func (l *leader) putStamp(id ObjectID, unit UnitID) {
	mod := l.view().thing(id).mod
	l.issue("stamp of "+string(id)+" is "+string(unit), func() bool {
		now := l.w.head().thing(id)
		if now == nil || now.mod != mod {
			return false
		}
		l.w.commit(event{what: ofThing}, l.w.check.by, func(s *state) {
			t := s.thing(id)
			t.stamp, t.mod = unit, s.rev
		})
		return true
	})
	l.pending.stamps = id
}
