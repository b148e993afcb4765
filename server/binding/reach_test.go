package binding_test

import (
	"slices"
	"testing"

	. "skerry.dev/skerry/server/binding"
)

const propSilent = "silence is not absence, and nothing goes to a silent target"

// reachable checks that nothing is taken away for the sake of targets that cannot learn of it: one of
// those that are wished, or that are returned to, has a session.
func (c *checker) reachable(e event, before *state, removed uint64, by *attempt, r Ref, says string) {
	if removed == 0 || by.facts == nil || by.facts.Wish != Somewhere || by.facts.Empty || by.facts.Ended {
		return
	}
	var was Record
	switch {
	case e.what == ofBinding && before.binding(e.unit) != nil:
		was = before.binding(e.unit).Record
	case e.what == ofCohort && before.cohort(e.seq) != nil:
		was = before.cohort(e.seq).Record
	}
	to := slices.Clone(by.facts.Wanted)
	for _, p := range was.Places {
		if removed&(1<<p.Target) == 0 {
			continue
		}
		known := slices.IndexFunc(by.facts.Targets, func(t Target) bool { return t.ID == p.Target })
		if p.For != 0 && was.Has(p.For) || by.away&(1<<p.Target) != 0 || known < 0 ||
			by.facts.Targets[known].Leave == Evict {
			return // it came last, or nobody is served there, or it must go in any case
		}
		to = append(to, p.For)
	}
	deleted := e.what == ofBinding && e.binding(e.unit) == nil || e.what == ofCohort && e.cohort(e.seq) == nil
	if !deleted && len(was.Places) > 0 && !slices.ContainsFunc(to, func(t TargetID) bool {
		return t != 0 && removed&(1<<t) == 0 && by.away&(1<<t) == 0
	}) {
		breaks(propReach, "%s by %s; wished are %v, away %b", says, by.what, by.facts.Wanted, by.away)
	}
}

// moving is a record in a world of targets 1 to 3 that breaks first.
type moving struct {
	t *testing.T
	r Record
	f Facts
}

func breaking(t *testing.T) *moving {
	return &moving{t, Record{Places: places(1)}, Facts{Now: 1_000, Timeout: 600, Wish: Somewhere,
		Wanted: []TargetID{2}, BreakFirst: true, Targets: targets(1, 2, 3)}}
}

// says lets targets say that they are ready, or have nothing, or nothing at all, and steps until the record
// is at rest.
func (m *moving) says(what string, states [3]State, want ...TargetID) {
	m.t.Helper()
	for range 4 {
		for i := range m.f.Targets {
			m.f.Targets[i].State = Unproven
			at := slices.IndexFunc(m.r.Places, func(p Place) bool { return p.Target == m.f.Targets[i].ID })
			if at >= 0 && (states[i] == Absent) == m.r.Places[at].Off {
				m.f.Targets[i].State = states[i]
			}
		}
		m.r = Next(m.r, m.f)
	}
	if here := m.r.Here(); !slices.Equal(here, want) {
		m.t.Fatalf(propSilent+": %s: it is on %v, want %v: %+v", what, here, want, m.r.Places)
	}
}

// TestSilenceIsNotAbsence cuts the link of a target after it was told to have what must not be in two
// places. It may have it, so the time that a move may take ends in no place, until the target speaks.
func TestSilenceIsNotAbsence(t *testing.T) {
	m := breaking(t)
	m.says("1 is told to go", [3]State{})
	m.says("1 has nothing left", [3]State{Absent}, 2)
	m.f.Targets[1].Away = true
	m.f.Now += 10_000
	m.says("2 is late and silent", [3]State{Absent})
	m.f.Now += 10_000
	m.says("no time is long enough", [3]State{Absent})
	back := *m
	back.f.Targets = targets(1, 2, 3)
	back.says("2 is back and has nothing", [3]State{Absent, Absent}, 1)
	m.f.Wanted = []TargetID{1}
	m.says("nor is another wish", [3]State{Absent})
	m.f.Wanted = []TargetID{3}
	m.says("wherever it leads", [3]State{Absent})
}

// TestAMoveToASilentTargetTakesNothingAway wishes what must not be in two places on a target that has no
// session, or loses it meanwhile.
func TestAMoveToASilentTargetTakesNothingAway(t *testing.T) {
	m := breaking(t)
	m.f.Targets[1].Away = true
	m.says("2 is silent", [3]State{Ready}, 1)
	m.f.Now += 10_000
	m.says("nothing is given up", [3]State{Ready}, 1)
	if w := Waits(m.r, m.f); len(w) != 1 || w[0] != (Wait{For: WaitHeard, Target: 2, Instead: 1}) {
		t.Errorf("it waits for %+v", w)
	}
	m.f.Wanted = []TargetID{2, 3}
	m.r.Places = append(m.r.Places, Place{Target: 3})
	m.says("one of two", [3]State{Ready, Unproven, Ready}, 1, 3)
	m = breaking(t)
	m.says("1 is told to go", [3]State{})
	m.f.Targets[1].Away = true
	m.says("2 is silent before 1 has nothing left", [3]State{Absent}, 1)
	m.f.Targets[1].Away = false
	m.says("2 is back", [3]State{})
	m.says("it goes on", [3]State{Absent, Ready}, 2)
}

// TestNoTargetIsLeftForASilentOne has a target that is ready by its last word, and has lost its session.
func TestNoTargetIsLeftForASilentOne(t *testing.T) {
	for _, spare := range []bool{false, true} {
		m := breaking(t)
		m.f.BreakFirst = false
		if spare {
			m.r.Places = places(1, 2)
		}
		m.f.Targets[1].Away = true
		m.says("2 is silent", [3]State{Ready, Ready}, 1, 2)
		m.f.Targets[1].Away = false
		m.says("2 is back", [3]State{Ready, Ready}, 2)
	}
}
