package binding_test

import (
	"fmt"
	"math/bits"

	. "skerry.dev/skerry/server/binding"
)

// The properties. Each has a mutation of the production code that breaks it, see mutations_test.go.
const (
	propUnknown    = "unknown never becomes a tombstone"
	propGeneration = "one generation, one revision"
	propSeen       = "what passes to another record is where its leader has seen it"
	propCover      = "no removal without cover, NONE, deletion or must-leave"
	propWished     = "nothing is made that nobody wished"
	propReports    = "reports from before joining never count"
	propOnce       = "able to run at most once"
	propBegun      = "what has begun and must run once is taken away nowhere before its end"
	propReach      = "nothing is taken away for a target that is away"
	propFence      = "not started elsewhere while it may run on a target that was away"
	propEnded      = "what has run to its end is made nowhere"
	propDeposed    = "deposed writes are void"
	propSnapshot   = "feeds = F(snapshot)"
	propInput      = "no generation without changed input"
	propRest       = "it comes to rest, with a bounded number of flips"
	propArrives    = "in the end all is where it is wished"
	propSilence    = "half the fleet lost moves nothing"
)

// broken is how a check ends a history.
type broken struct{ property, what string }

func breaks(property, format string, args ...any) {
	panic(broken{property, fmt.Sprintf(format, args...)})
}

// fate is what the checker remembers of an object in a slot.
type fate struct {
	uid     ObjectID
	may     uint64         // targets where it may be made since all was at rest
	copies  int            // how many copies may be since then
	changed [mostIDs]int64 // when it joined or left each target's feed
	ready   uint64         // where it was ready since it joined
	left    uint64         // targets that it left when they were away, and on which it still runs
}

// checker watches every write and everything that is made. It decides for itself what reports are
// worth: it knows when they were written.
type checker struct {
	w     *world
	by    *attempt
	x     *Index // of the head
	on    [things]uint64
	fates [things]fate
	flips int
	stays map[stay]int64 // when a record last said that a place stays, in seconds
}

// knowledge is what the reports in a leader's inbox are worth when it decides.
type knowledge struct {
	uid     [things]ObjectID
	ready   [things]uint64
	missing [things]uint64
}

// knows takes down what a leader knows when it issues a write.
func (l *leader) knows() *knowledge {
	k := &knowledge{}
	v := l.view()
	for i := range v.things {
		t := &v.things[i]
		k.uid[i] = t.uid
		for id, r := range l.inbox {
			if l.w.check.fates[i].uid != t.uid || r.pos < l.w.check.fates[i].changed[id] {
				continue
			}
			switch c := r.has[i]; {
			case c.uid == t.uid && c.ready && c.version == t.version:
				k.ready[i] |= 1 << id
			case c.uid != t.uid || !c.ready:
				k.missing[i] |= 1 << id
			}
		}
	}
	return k
}

// written checks a write.
func (c *checker) written(before *state, e event, by *attempt) {
	apply(c.x, e)
	on := feeds(e.state, c.x)
	for i := range e.things {
		f, t := &c.fates[i], &e.things[i]
		if f.uid != t.uid {
			*f = fate{uid: t.uid}
			c.on[i] = 0
			if t.stamp != "" { // it begins with the unit that it was admitted to
				f.may = t.admitted | e.around(t.stamp)
				if b := e.binding(t.stamp); b != nil && t.era != e.term.Era {
					for _, p := range b.Places { // nobody waited for what a deposed leader has admitted
						f.may |= 1<<p.Target | 1<<p.For
					}
				}
			}
		}
		was := c.on[i]
		for id := TargetID(1); id < mostIDs; id++ {
			if was&(1<<id) != 0 && e.target(id) == nil {
				was &^= 1 << id
			}
		}
		c.allow(e.state, i)
		if t.uid != "" && was != on[i] {
			c.moved(before, e, i, was, on[i], by)
		}
		c.on[i] = on[i]
	}
	c.generation(before, e)
	c.hooks(before, e, by)
}

// allow notes where an object may be made now.
func (c *checker) allow(s *state, i int) {
	t := &s.things[i]
	if t.uid == "" {
		return
	}
	id := s.wished(t)
	c.fates[i].may |= s.around(id)
	c.fates[i].copies = max(c.fates[i].copies, s.wishOf(id).copies(), 1)
	if b := s.binding(id); b != nil && b.Settled() {
		// Where nothing is wished, or what is wished was given up, or may not be done, a unit stays
		// where it is.
		kind, _ := s.choose(s.wishOf(id), b.Record, func(TargetID) bool { return false })
		if row := s.book(id); kind == NoOpinion || len(b.GaveUp) > 0 || row != nil && row.suspended {
			c.fates[i].copies = max(c.fates[i].copies, len(b.Here()))
		}
	}
}

// moved checks a change of place of an object.
func (c *checker) moved(before *state, e event, i int, was, now uint64, by *attempt) {
	f, t := &c.fates[i], &e.things[i]
	added, removed := now&^was, was&^now
	for id := TargetID(1); id < mostIDs; id++ {
		if (added|removed)&(1<<id) != 0 {
			f.changed[id] = e.rev
		}
	}
	says := fmt.Sprintf("%s: %b -> %b", t.uid, was, now)
	c.flips++
	if by == nil || by.by == nil {
		if old := before.thing(t.uid); old != nil {
			breaks(propUnknown, "%s by a user's write", says)
		}
	} else {
		c.decided(before, e, i, was, now, by, says)
	}
	if added&^f.may != 0 && !c.unaware(before, e, t, by) {
		breaks(propWished, "%s; it may be on %b", says, f.may)
	}
	f.may |= added // it may also be returned there
	f.ready &^= added | removed
}

// unaware reports whether an object goes along with its unit because nobody knew better: a leader that
// moves the unit did not know yet that the object is with it, or its first stamp was on its way.
func (c *checker) unaware(before *state, e event, t *thingRow, by *attempt) bool {
	if by == nil || by.view == nil {
		return false
	}
	if e.what == ofThing {
		return before.thing(t.uid).stamp == ""
	}
	old := by.view.thing(t.uid)
	return old == nil || old.stamp != t.stamp
}

// decided checks a change of place that a leader has written.
func (c *checker) decided(before *state, e event, i int, was, now uint64, by *attempt, says string) {
	t, f := &e.things[i], &c.fates[i]
	r := c.x.Of(t.uid, t.stamp)
	c.fenced(t, i, was, now, by, r)
	c.reachable(e, before, was&^now, by, r, says)
	c.runsOn(e, i, was&^now, by, r, says)
	switch {
	case e.what == ofThing && was == 0: // the first place of an object that was nowhere
	case e.what == ofBinding && r == (Ref{Unit: e.unit}), e.what == ofCohort && r == (Ref{Cohort: e.seq}):
	case e.what == ofCohort && c.arrives(before, e): // see generation
	case e.what == ofTerm && e.term.Open: // a cohort that came after the last look is void
		return
	default:
		breaks(propGeneration, "%s by %s, which is no step of %v", says, by.what, r)
	}
	passes := e.what == ofThing || e.what == ofCohort && before.cohort(e.seq) == nil
	if passes && by.view.thing(t.uid) != nil && by.on[i]&e.alive() != was {
		breaks(propSeen, "%s by %s; its leader saw it on %b", says, by.what, by.on[i])
	}
	if old := by.view.thing(t.uid); now&^was != 0 && old != nil && old.ended {
		breaks(propEnded, "%s", says)
	}
	if t.ended || c.excused(e.state, t, r) || c.excused(by.view, t, r) || c.breaks(e.state, by, r) || c.breaks(by.view, by, r) {
		return
	}
	lost := was &^ now & f.ready
	k := by.know
	if k.uid[i] != t.uid {
		return
	}
	must := uint64(0)
	for _, row := range by.view.targets {
		if row.leave == Evict {
			must |= 1 << row.id
		}
	}
	cover := uint64(0) // with targets that were deleted meanwhile
	for _, id := range c.x.Record(r).Here() {
		cover |= 1 << id
	}
	if lost &^= k.missing[i] | must; lost != 0 && cover&k.ready[i] == 0 {
		breaks(propCover, "%s by %s; ready are %b, missing %b", says, by.what, k.ready[i], k.missing[i])
	}
}

// alive are the targets that exist, as bits.
func (s *state) alive() (bits uint64) {
	for i := range s.targets {
		bits |= 1 << s.targets[i].id &^ 1
	}
	return bits
}

// excused reports whether an object may leave a target before another one is ready.
func (c *checker) excused(s *state, t *thingRow, r Ref) bool {
	if t = s.thing(t.uid); t == nil {
		return false
	}
	id := s.wished(t)
	unit := r.Unit
	once := t.once
	if co, ok := c.x.Cohort(r.Cohort); ok {
		unit = co.To
		once = once || co.BreakFirst
	}
	for j := range s.things {
		o := &s.things[j]
		once = once || o.uid != "" && o.once && c.x.Of(o.uid, o.stamp) == r
	}
	for _, u := range []UnitID{id, unit} {
		b := s.book(u)
		once = once || b != nil && b.breakFirst
		if s.wishOf(u).kind == nowhere {
			return true
		}
	}
	return once
}

// generation checks that a record's generation rises with each change of its places, and only then.
func (c *checker) generation(before *state, e event) {
	old, now := c.records(before, e)
	if old == nil {
		return
	}
	want := old.Generation
	if !old.SamePlaces(*now) {
		want++
	}
	if now.Generation != want {
		breaks(propGeneration, "%v -> %v", *old, *now)
	}
}

// records are the record that a write changes, before and after it. They are nil where it is new or
// deleted.
func (c *checker) records(before *state, e event) (old, now *Record) {
	switch e.what {
	case ofBinding:
		if a, b := before.binding(e.unit), e.binding(e.unit); a != nil && b != nil {
			old, now = &a.Record, &b.Record
		}
	case ofCohort:
		if now := e.cohort(e.seq); now != nil && e.term.Open && now.Era != e.term.Era {
			for _, o := range now.Members {
				if t := e.thing(o); t != nil && c.x.Of(o, t.stamp) == (Ref{Cohort: e.seq}) {
					breaks(propDeposed, "%s is where a cohort of era %d says, the term is %v", o, now.Era, e.term)
				}
			}
		}
		a, b := before.cohort(e.seq), e.cohort(e.seq)
		if a != nil && b != nil {
			old, now = &a.Record, &b.Record
		}
		if c.arrives(before, e) { // its last step is the same write
			places := *now
			places.Places = e.binding(b.To).Places
			now = &places
		}
	}
	return old, now
}

// arrives reports whether a write makes a cohort another name of its unit.
func (c *checker) arrives(before *state, e event) bool {
	a, b := before.cohort(e.seq), e.cohort(e.seq)
	return a != nil && b != nil && b.Arrived && !a.Arrived && e.binding(b.To) != nil
}

// made checks that what must run once does.
func (c *checker) made(s *site, i int) {
	uid := s.has[i].uid
	if t := c.w.head().thing(uid); t == nil || !t.once {
		return
	}
	n := 0
	for _, other := range c.w.sites {
		if other.has[i].uid == uid {
			n++
		}
	}
	if n > c.fates[i].copies {
		breaks(propOnce, "%s is on %d clusters", uid, n)
	}
}

// ready notes that a copy was available.
func (c *checker) ready(s *site, i int) {
	if f := &c.fates[i]; f.uid == s.has[i].uid && s.pos >= f.changed[s.id] && c.on[i]&(1<<s.id) != 0 {
		f.ready |= 1 << s.id
	}
}

// counted checks what a leader takes for proved.
func (c *checker) counted(l *leader, t Target, r Record, members []*thingRow) {
	if t.State == Unproven || t.State == Absent && t.Fence == RunsNot {
		return
	}
	pos := l.inbox[t.ID].pos
	for _, m := range members {
		for i := range c.fates {
			f := &c.fates[i]
			if f.uid == m.uid && f.changed[t.ID] > pos && f.changed[t.ID] <= l.view().rev {
				breaks(propReports, "%s proves %d of %s: written at %d, it joined or left at %d", l.w.name(t.ID),
					t.State, m.uid, pos, f.changed[t.ID])
			}
		}
	}
}

// sameAsFresh compares what a leader has followed with what a start reads.
func (c *checker) sameAsFresh(l *leader) {
	v := l.view()
	fresh := indexOf(v)
	if a, b := feeds(v, l.x), feeds(v, fresh); a != b {
		breaks(propSnapshot, "followed %b, read anew %b", a, b)
	}
	for i := range v.things {
		for j := range v.bindings {
			s := Subject{ID: v.things[i].uid, Stamp: v.things[i].stamp, Wished: v.bindings[j].Unit}
			if a, b := l.x.Pass(s), fresh.Pass(s); s.ID != "" && a != b {
				breaks(propSnapshot, "%+v: followed %d, read anew %d", s, a, b)
			}
		}
	}
}

// atRest lets what is wished now be all that may be.
func (c *checker) atRest() {
	s := c.w.head()
	for i := range s.things {
		c.fates[i].may, c.fates[i].copies = c.on[i], max(1, bits.OnesCount64(c.on[i]))
		c.allow(s, i)
	}
}

func (w *world) name(t TargetID) string { return fmt.Sprint("target ", t) }
