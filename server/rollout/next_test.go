package rollout

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// play is a unit with targets that come and go, are well or not, and lose their links.
type play struct {
	t       *rapid.T
	policy  Policy
	now     int64
	state   State
	facts   []Fact
	content uint64
	joined  int
}

func newPlay(t *rapid.T) *play {
	p := &play{t: t, now: 1000, content: 1}
	p.policy = Policy{GroupBy: "ring", Groups: []string{"first"},
		Concurrency: rapid.IntRange(1, 3).Draw(t, "concurrency"), MinSuccess: rapid.Int64Range(0, 5).Draw(t, "success"),
		Deadline: 20, MaxFailures: rapid.IntRange(0, 2).Draw(t, "failures"),
		Offline: rapid.SampledFrom([]v1alpha1.OfflinePolicy{v1alpha1.OfflineSkip, v1alpha1.OfflineWait,
			v1alpha1.OfflineCountAsFailed}).Draw(t, "offline"),
		RollsBack: rapid.Bool().Draw(t, "rolls back"), Approval: rapid.Bool().Draw(t, "approval"),
	}
	for range rapid.IntRange(1, 6).Draw(t, "targets") {
		p.join()
	}
	p.state = State{}.Add(p.content, 1, p.now)
	return p
}

func (p *play) join() {
	p.joined++
	p.facts = append(p.facts, Fact{UID: fmt.Sprint("u", p.joined), Name: fmt.Sprint("t", p.joined), Online: true, OnlineSince: p.now,
		Group: rapid.SampledFrom([]string{"first", "second", ""}).Draw(p.t, "group")})
}

// happen lets something happen.
func (p *play) happen() {
	i := rapid.IntRange(0, len(p.facts)-1).Draw(p.t, "target")
	f := &p.facts[i]
	switch rapid.IntRange(0, 10).Draw(p.t, "event") {
	case 0, 1:
		p.now += rapid.Int64Range(1, 30).Draw(p.t, "time")
	case 2:
		p.content = uint64(rapid.IntRange(1, 4).Draw(p.t, "content"))
		if p.content != p.state.Newest().Digest {
			p.state = p.state.Add(p.content, 1, p.now)
		}
	case 3, 4:
		if f.Well = !f.Well; f.Well {
			f.WellSince = p.now
		}
	case 5:
		if f.Online = !f.Online; f.Online {
			f.OnlineSince = p.now
		}
	case 10:
		f.Held = !f.Held
	case 6:
		p.policy.Paused = !p.policy.Paused
	case 7:
		p.policy.Undo = v1alpha1.RolloutUndo{}
		if rapid.Bool().Draw(p.t, "undo") {
			p.policy.Undo.Release = int64(p.state.Newest().Number)
			p.policy.Undo.To = rapid.Int64Range(0, p.policy.Undo.Release-1).Draw(p.t, "to")
		}
	case 8:
		p.policy.Approved = v1alpha1.RolloutApproval{Release: int64(p.state.Newest().Number),
			Groups: []string{rapid.SampledFrom([]string{"second", "*", ""}).Draw(p.t, "approved")}}
	case 9:
		if len(p.facts) > 1 && rapid.Bool().Draw(p.t, "leaves") {
			p.facts = slices.Delete(p.facts, i, i+1)
		} else {
			p.join()
		}
	}
}

// step takes steps until nothing changes, and judges each by the rules, which are written here once more.
func (p *play) step() {
	for range 2*len(p.facts) + 4 {
		was := p.state
		next, view := Next(was, Facts{Now: p.now, Policy: &p.policy, Targets: slices.Clone(p.facts)})
		p.judge(was, next, view)
		raw, err := next.Encode()
		if err == nil {
			_, err = Decode(raw)
		}
		if err != nil {
			p.t.Fatalf("%+v: %v", next, err)
		}
		if next.Equal(was) {
			return
		}
		for i, f := range p.facts {
			if next.Of(f.UID) != was.Of(f.UID) {
				p.facts[i].Well = false // with what it was given now
			}
		}
		p.state = next
	}
	p.t.Fatalf("it does not come to rest: %+v", p.state)
}

func (p *play) judge(was, next State, _ View) {
	t := p.t
	d, kept := next.Release(next.Default)
	if !kept || !d.Proven {
		t.Fatalf("the default %d is not proven", next.Default)
	}
	newest := next.Newest()
	entry := func(s State, uid string) (Target, bool) {
		i, ok := s.search(uid)
		if !ok {
			return Target{}, false
		}
		return s.Targets[i], true
	}
	waits, failed := 0, 0
	for _, e := range next.Targets {
		if before, _ := entry(was, e.UID); e.Release == newest.Number && e.Failed && before.Failed {
			failed++
		}
	}
	given := 0
	for _, f := range p.facts {
		e, has := entry(next, f.UID)
		before, _ := entry(was, f.UID)
		if has && e.Release == newest.Number && !e.Done && !e.Failed {
			waits++
		}
		changed := was.Of(f.UID) != next.Of(f.UID)
		if changed && p.policy.Paused {
			t.Fatalf("%s got release %d while paused", f.Name, next.Of(f.UID))
		}
		if changed && f.Held {
			t.Fatalf("%s got release %d while it was held", f.Name, next.Of(f.UID))
		}
		if e.Done && !before.Done && !f.Held && !(f.Well && f.Online && p.now-f.WellSince >= p.policy.MinSuccess) {
			t.Fatalf("%s is done, and was not well for long enough", f.Name)
		}
		if !has || !changed {
			continue
		}
		given++
		switch {
		case e.Release != newest.Number:
			t.Fatalf("%s got release %d, which is neither proven nor the newest", f.Name, e.Release)
		case p.policy.Undo.Release == int64(newest.Number), newest.RolledBack:
			t.Fatalf("%s got release %d, which was taken back", f.Name, e.Release)
		case !f.Online && p.policy.Offline != v1alpha1.OfflineWait:
			t.Fatalf("%s got release %d while it was away", f.Name, e.Release)
		}
		p.turn(next, f)
	}
	if given > 0 && waits > p.policy.concurrency(len(p.facts)) {
		t.Fatalf("%d targets are getting the release at the same time", waits)
	}
	if given > 0 && failed > p.policy.MaxFailures {
		t.Fatalf("a target got the release after %d have failed", failed)
	}
	p.proof(was, next)
	if limit := MaxReleases + 1; len(next.Releases) > limit {
		t.Fatalf("%d releases are kept", len(next.Releases))
	}
}

// turn judges whether a target had its turn.
func (p *play) turn(next State, got Fact) {
	order := map[string]int{"first": 0, "second": 1, "": 2}
	first := 3
	for _, f := range p.facts {
		first = min(first, order[f.Group])
		if order[f.Group] >= order[got.Group] {
			continue
		}
		i, has := next.search(f.UID)
		switch {
		case has && next.Targets[i].Release == next.Newest().Number && (next.Targets[i].Done || next.Targets[i].Failed):
		case (!has || next.Targets[i].Release != next.Newest().Number) &&
			(f.Held || !f.Online && p.policy.Offline != v1alpha1.OfflineWait):
		default:
			p.t.Fatalf("%s of group %q got the release before %s of group %q was through", got.Name, got.Group, f.Name, f.Group)
		}
	}
	if a := p.policy.Approved; p.policy.Approval && order[got.Group] > first &&
		(a.Release != int64(next.Newest().Number) || !slices.Contains(a.Groups, got.Group) && !slices.Contains(a.Groups, "*")) {
		p.t.Fatalf("%s of group %q got the release without approval", got.Name, got.Group)
	}
}

// proof judges whether a release that is proven now was.
func (p *play) proof(was, next State) {
	for _, r := range next.Releases {
		before, _ := was.Release(r.Number)
		if !r.Proven || before.Proven {
			continue
		}
		done, failed := 0, 0
		for _, f := range p.facts {
			i, has := was.search(f.UID)
			with := has && was.Targets[i].Release == r.Number
			well := with && (was.Targets[i].Done || f.Well && f.Online && p.now-f.WellSince >= p.policy.MinSuccess)
			switch {
			case well:
				done++
			case with && (was.Targets[i].Failed || p.now-was.Targets[i].Since >= p.policy.Deadline):
				failed++
			case f.Held && !with, !f.Online && p.policy.Offline == v1alpha1.OfflineSkip && !with:
			case !f.Online && p.policy.Offline == v1alpha1.OfflineCountAsFailed && !with:
				failed++
			default:
				p.t.Fatalf("release %d is proven, and %s has not been well with it", r.Number, f.Name)
			}
		}
		if done == 0 || failed > p.policy.MaxFailures {
			p.t.Fatalf("release %d is proven with %d done and %d failed", r.Number, done, failed)
		}
	}
}

func TestNoTargetGetsAReleaseThatNoRuleAllows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := newPlay(t)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			p.happen()
			p.step()
		}
	})
}

// Where all targets are connected, well and not held, nothing is taken back, and all is approved, every release is
// proven in the end.
func TestAGoodReleaseIsProven(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := newPlay(t)
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			p.happen()
			p.step()
		}
		p.policy.Paused, p.policy.Undo, p.policy.RollsBack = false, v1alpha1.RolloutUndo{}, false
		p.state = p.state.Add(77, 1, p.now)
		p.policy.Approved = v1alpha1.RolloutApproval{Release: int64(p.state.Newest().Number), Groups: []string{"*"}}
		for range 3*len(p.facts) + 3 {
			for i := range p.facts {
				f := &p.facts[i]
				if f.Online, f.Held = true, false; !f.Well {
					f.Well, f.WellSince = true, p.now
				}
			}
			p.step()
			p.now += p.policy.MinSuccess + 1
		}
		if p.state.Default != p.state.Newest().Number || len(p.state.Targets) > 0 {
			t.Fatalf("%+v", p.state)
		}
	})
}

// What wakes a rollout is enough: between two wakes nothing would change.
func TestNothingChangesBeforeItIsWoken(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := newPlay(t)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			p.happen()
			p.step()
		}
		f := Facts{Now: p.now, Policy: &p.policy, Targets: p.facts}
		next, view := Next(p.state, f)
		until := f.Now + 200
		if view.Wake != 0 {
			until = view.Wake - 1
		}
		if f.Now = until; until > p.now {
			if later, _ := Next(next, f); !later.Equal(next) {
				t.Fatalf("%+v became %+v %d s later, and the wake was at %d", next, later, f.Now-p.now, view.Wake)
			}
		}
	})
}

func TestTheContentOfTheDefaultIsProven(t *testing.T) {
	s := State{}.Add(1, 1, 0).Add(2, 1, 0).Add(1, 1, 0)
	if !s.Newest().Proven || s.Releases[1].Proven {
		t.Errorf("%+v", s)
	}
	s, v := Next(s, Facts{Policy: &Policy{Concurrency: 1}, Targets: []Fact{{UID: "u"}}})
	if s.Of("u") != 3 || v.Phase != Complete {
		t.Errorf("%+v %+v", s, v)
	}
}

func TestOldReleasesAreDropped(t *testing.T) {
	s := State{}.Add(0, 1, 0)
	for i := range uint64(30) {
		s = s.Add(i+1, 1, 0)
		if i == 0 {
			s.Targets = []Target{{UID: "u", Release: 2}}
		}
	}
	if len(s.Releases) != MaxReleases+1 || s.Releases[0].Number != 1 || s.Releases[1].Number != 2 ||
		s.Releases[2].Number != 23 || s.Of("u") != 2 {
		t.Errorf("what a target has is dropped before what none has: %+v", s.Releases)
	}
	for i, r := range s.Releases[1:] {
		s.Targets = append(s.Targets[:i:i], Target{UID: string(rune('a' + i)), Release: r.Number})
	}
	s = s.Add(99, 1, 0)
	if len(s.Releases) != MaxReleases+1 || s.Releases[0].Number != 1 || s.Of("a") != 1 || s.Of("b") != 23 {
		t.Errorf("of releases that targets have the oldest is not dropped: %+v %+v", s.Releases, s.Targets)
	}
}

// A target that is held keeps its release over others that are proven, and has the newest when it is let go.
func TestAHeldTargetKeepsItsRelease(t *testing.T) {
	facts := Facts{Now: 1, Policy: &Policy{Concurrency: 2, Deadline: 10}, Targets: []Fact{
		{UID: "a", Name: "a", Online: true}, {UID: "b", Name: "b", Online: true, Held: true}}}
	roll := func(s State) (State, View) {
		for range 4 {
			if s.Of("a") == s.Newest().Number {
				facts.Targets[0].Well = true
			}
			next, view := Next(s, facts)
			if next.Equal(s) {
				return s, view
			}
			s = next
		}
		t.Fatalf("it does not come to rest: %+v", s)
		return s, View{}
	}
	s, view := roll(State{}.Add(1, 1, 0))
	for digest := uint64(2); digest < 5; digest++ {
		facts.Targets[0].Well = false
		s, view = roll(s.Add(digest, 1, 0))
	}
	if s.Default != 4 || s.Of("a") != 4 || s.Of("b") != 1 || view.Phase != Complete || len(view.Held) != 1 ||
		len(view.Skipped) != 1 {
		t.Fatalf("held: %+v %+v", s, view)
	}
	facts.Policy.Paused = true
	if s, view = roll(s); view.Phase != Complete || s.Of("b") != 1 {
		t.Errorf("nothing is left to do while it is paused: %+v %+v", s, view)
	}
	facts.Targets[1].Held = false
	if s, view = roll(s); view.Phase != Paused || s.Of("b") != 1 {
		t.Errorf("let go while it is paused: %+v %+v", s, view)
	}
	facts.Policy.Paused = false
	if s, view = roll(s); s.Of("b") != 4 || len(s.Targets) != 0 || len(view.Held) != 0 {
		t.Errorf("let go: %+v %+v", s, view)
	}
	// One that is let go while a release goes round that is not proven has the proven one.
	facts.Targets[1].Held = true
	facts.Targets[0].Well = false
	s, _ = roll(s.Add(5, 1, 0))
	facts.Targets[0].Well = false
	if s, _ = Next(s.Add(6, 1, 0), facts); s.Default != 5 || s.Of("a") != 6 || s.Of("b") != 4 {
		t.Fatalf("going round: %+v", s)
	}
	facts.Targets[1].Held, facts.Policy.Concurrency = false, 1
	if s, _ = Next(s, facts); s.Of("b") != 5 {
		t.Errorf("let go while another goes round: %+v", s)
	}
}
