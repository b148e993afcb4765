package binding_test

import (
	"slices"
	"testing"

	. "skerry.dev/skerry/server/binding"
)

const (
	propHook     = "no target is left before its hooks have ended"
	propHookOnce = "no hook runs at a target that has been left"
)

// hookRun is one attempt of a hook, as the world knows it.
type hookRun struct {
	of        Ref
	target    TargetID
	began, at uint32
	number    uint8
	// done says that it has ended well once; ended and failed are what the leader
	// knows.
	done, ended, failed bool
}

// stay names a place.
type stay struct {
	of     Ref
	target TargetID
}

// hooksOf is how many hooks run before a target is left by a unit.
func (s *state) hooksOf(id UnitID) uint8 {
	if b := s.book(id); b != nil {
		return b.hooks
	}
	return 0
}

// cohortHooks is how many run before a target is left by a cohort.
func (s *state) cohortHooks(c *Cohort) uint8 {
	if c.Apart() {
		return 0
	}
	return s.hooksOf(c.To)
}

// dead reports whether no hook can run at a target: its lease has ended.
func (w *world) dead(t TargetID) bool {
	s := w.sites[t]
	return s == nil || s.expired(w.now)
}

// deadOnes are these targets, as bits.
func (w *world) deadOnes() (bits uint64) {
	for id := TargetID(1); id <= w.ids; id++ {
		if w.dead(id) {
			bits |= 1 << id
		}
	}
	return bits
}

// run is the attempt that a place waits for, nil while it has not begun.
func (w *world) run(of Ref, p Place) *hookRun {
	for _, r := range w.runs {
		if r.of == of && r.target == p.Target && r.began == p.Hooks.Began && r.at == p.Since && r.number == p.Hooks.Ran {
			return r
		}
	}
	return nil
}

// runHooks begins what the records that a leader sees say.
func (l *leader) runHooks() {
	v := l.view()
	begin := func(of Ref, record Record, hooks uint8) {
		for _, p := range record.Places {
			if !p.Runs(hooks) || l.w.now < int64(p.Since) || l.w.dead(p.Target) || l.w.run(of, p) != nil {
				continue
			}
			if now := l.w.check.x.Record(of); !now.Has(p.Target) {
				breaks(propHookOnce, "%v has left %d: %v", of, p.Target, now)
			}
			l.w.tale("hook %d of %v begins at %d", p.Hooks.Ran, of, p.Target)
			l.w.runs = append(l.w.runs, &hookRun{of: of, target: p.Target, began: p.Hooks.Began, at: p.Since,
				number: p.Hooks.Ran})
		}
	}
	for i := range v.bindings {
		begin(Ref{Unit: v.bindings[i].Unit}, v.bindings[i].Record, v.hooksOf(v.bindings[i].Unit))
	}
	for i := range v.cohorts {
		if c := &v.cohorts[i]; !c.Arrived && v.term.Counts(&c.Cohort) {
			begin(Ref{Cohort: c.Seq}, c.Record, v.cohortHooks(&c.Cohort))
		}
	}
}

// hookState is what a leader knows of the attempt that a record waits for.
func (l *leader) hookState(of Ref, r Record, t TargetID) HookState {
	i := slices.IndexFunc(r.Places, func(p Place) bool { return p.Target == t })
	if i < 0 {
		return HookRuns
	}
	switch run := l.w.run(of, r.Places[i]); {
	case run == nil && l.w.now < int64(r.Places[i].Since) && (l.w.now+int64(t))%5 == 0:
		return HookChanged // in the pause after a failure
	case run == nil || !run.ended:
		return HookRuns
	case run.failed:
		return HookFailed
	}
	return HookEnded
}

// endHook ends an attempt that is under way, as it is to end.
func (w *world) endHook(arg int, failed bool) {
	under := slices.DeleteFunc(slices.Clone(w.runs), func(r *hookRun) bool {
		s := w.sites[r.target]
		return r.ended || s == nil || s.cut
	})
	if len(under) == 0 {
		return
	}
	r := under[arg%len(under)]
	w.tale("hook %d of %v at %d ends, failed: %v", r.number, r.of, r.target, failed)
	r.ended, r.failed, r.done = true, failed, r.done || !failed
}

// forgetHooks loses the results that no store has, as those of webhooks: they are called again.
func (w *world) forgetHooks() {
	for _, r := range w.runs {
		if !r.failed && r.target%2 == 0 {
			r.ended = false
		}
	}
}

// hooks checks that no record leaves a target before the hooks of its unit have ended there. Records count
// by seconds: what has run in the second in which the target was wished again counts.
func (c *checker) hooks(before *state, e event, by *attempt) {
	of := Ref{Unit: e.unit}
	unit := e.unit
	if e.what == ofCohort {
		of = Ref{Cohort: e.seq}
		if co := e.cohort(e.seq); co != nil {
			if unit = co.To; co.Apart() {
				unit = "" // it leaves without
			}
		}
	}
	old, now := c.records(before, e)
	if old == nil {
		return
	}
	for _, p := range old.Places {
		need := uint8(0)
		if by != nil && by.view != nil && by.members > 0 && by.view.target(p.Target) != nil && e.target(p.Target) != nil &&
			by.dead&(1<<p.Target) == 0 {
			need = by.view.hooksOf(unit)
		}
		if p.Off || p.For != 0 || now.Has(p.Target) {
			continue
		}
		for number := range need {
			if !slices.ContainsFunc(c.w.runs, func(r *hookRun) bool {
				return r.of == of && r.target == p.Target && r.number == number && r.done &&
					int64(r.at) >= c.stays[stay{of, p.Target}]
			}) {
				breaks(propHook, "%s: %v leaves %d without hook %d", by.what, of, p.Target, number)
			}
		}
	}
	for _, p := range now.Places {
		if !p.Off && p.Leaving == Stays {
			c.stays[stay{of, p.Target}] = c.w.now
		}
	}
}

func TestAHookHoldsATargetAndNothingElse(t *testing.T) {
	r := Record{Places: places(1)}
	facts := Facts{Now: 100, Timeout: 600, Wish: Somewhere, Wanted: []TargetID{2}, Targets: targets(1, 2)}
	one, two := &facts.Targets[0], &facts.Targets[1]
	one.Hooks = 2
	step := func(now int64, state HookState) {
		facts.Now, one.Hook = now, state
		r = Next(r, facts)
		held := facts
		held.Suspended = true
		if Next(r, held).Places[0] != r.Places[0] && r.Places[0].Hooks != (Hooks{}) {
			t.Fatalf("suspended, and changed: %+v", r)
		}
	}
	step(100, HookRuns)
	if r.Places[0].Hooks != (Hooks{}) || !r.Has(2) {
		t.Fatalf("a hook begins before the new target is ready: %+v", r)
	}
	two.State = Ready
	step(200, HookRuns)
	if got := r.Places[0]; got.Hooks != (Hooks{Began: 200}) || got.Since != 200 || r.Generation != 1 {
		t.Fatalf("not begun: %+v", r)
	}
	step(210, HookFailed)
	if got := r.Places[0]; got.Hooks != (Hooks{Began: 200, Failed: 1}) || got.Since != 220 {
		t.Fatalf("after a failure: %+v", got)
	}
	if w := Waits(r, facts); len(w) != 1 || w[0] != (Wait{For: WaitHook, Target: 1, Until: 220}) {
		t.Errorf("it waits for %+v", w)
	}
	step(213, HookChanged)
	if got := r.Places[0]; got.Hooks != (Hooks{Began: 200, Failed: 1}) || got.Since != 213 {
		t.Fatalf("after what it runs was mended: %+v", got)
	}
	two.State = Unproven // the new target is not ready for a while: what has run, has
	step(230, HookEnded)
	two.State = Ready
	step(240, HookEnded)
	if got := r.Places[0]; got.Hooks != (Hooks{Began: 200, Ran: 1}) || got.Since != 240 {
		t.Fatalf("the second: %+v", got)
	}
	step(900, HookEnded)
	if r.Has(1) || !r.Settled() || r.Generation != 2 {
		t.Fatalf("not left: %+v", r)
	}
}

func TestAHookIsForgottenWhenTheTargetIsWishedAgain(t *testing.T) {
	facts := Facts{Now: 100, Timeout: 600, Wish: Somewhere, Wanted: []TargetID{2}, BreakFirst: true, Targets: targets(1, 2)}
	facts.Targets[0].Hooks = 1
	r := Next(Record{Places: places(1)}, facts)
	if r.Places[0].Hooks.Began != 100 || len(r.Places) != 1 || r.Settled() {
		t.Fatalf("not begun: %+v", r)
	}
	facts.Wanted = []TargetID{1}
	if r = Next(r, facts); r.Places[0] != (Place{Target: 1}) {
		t.Errorf("not forgotten: %+v", r)
	}
}

func TestPausesBetweenAttemptsAreBounded(t *testing.T) {
	p, now := Place{Target: 1, Since: 1, Hooks: Hooks{Began: 1}}, uint32(1)
	for range 1000 {
		was := p.Hooks.Failed
		p.GoOn(Target{Hooks: 1, Hook: HookFailed}, now)
		if pause := p.Since - now; pause < 10 || pause > 300 || p.Hooks.Failed < was {
			t.Fatalf("a pause of %d s after %d failures", pause, p.Hooks.Failed)
		}
		now = p.Since
	}
}
