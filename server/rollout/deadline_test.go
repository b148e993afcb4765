package rollout

import (
	"slices"
	"testing"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// rolling is a release that one of two groups is getting, at 100 s.
func rolling(p *Policy) (State, Facts) {
	f := Facts{Now: 100, Policy: p, Targets: []Fact{
		{UID: "a", Name: "a", Group: "first", Online: true}, {UID: "b", Name: "b", Group: "second", Online: true},
	}}
	s, _ := Next(State{}.Add(1, 1, 0).Add(2, 1, 0), f)
	return s, f
}

func TestADeadline(t *testing.T) {
	for name, tc := range map[string]struct {
		offline v1alpha1.OfflinePolicy
		change  func(*Fact)
		now     int64
		failed  bool
	}{
		"not yet":                        {now: 119},
		"over":                           {now: 120, failed: true},
		"away after it got it":           {now: 120, change: func(f *Fact) { f.Online = false }, failed: true},
		"away, and waited for":           {v1alpha1.OfflineWait, func(f *Fact) { f.Online = false }, 500, false},
		"back, and waited for":           {v1alpha1.OfflineWait, func(f *Fact) { f.OnlineSince = 400 }, 419, false},
		"back for long, and waited for":  {v1alpha1.OfflineWait, func(f *Fact) { f.OnlineSince = 400 }, 420, true},
		"back for long, not waited for":  {v1alpha1.OfflineSkip, func(f *Fact) { f.OnlineSince = 400 }, 401, true},
		"well":                           {now: 120, change: func(f *Fact) { f.Well, f.WellSince = true, 110 }},
		"well, and not for long enough":  {now: 120, change: func(f *Fact) { f.Well, f.WellSince = true, 116 }, failed: true},
		"it was said to be well, and is": {now: 120, change: func(f *Fact) { f.Well, f.Online = true, false }, failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.offline == "" {
				tc.offline = v1alpha1.OfflineSkip
			}
			s, f := rolling(&Policy{Groups: []string{"first"}, Concurrency: 1, Deadline: 20, MinSuccess: 5, Offline: tc.offline})
			if f.Now = tc.now; tc.change != nil {
				tc.change(&f.Targets[0])
			}
			_, v := Next(s, f)
			if is := v.Phase == Failed && slices.Equal(v.Failed, []string{"a"}); is != tc.failed {
				t.Errorf("%+v", v)
			}
		})
	}
}

// A failure that is allowed holds up no group, and the release is proven by the others. Who has failed gets
// well later, or not.
func TestAnAllowedFailure(t *testing.T) {
	s, f := rolling(&Policy{Groups: []string{"first"}, Concurrency: 1, Deadline: 20, MaxFailures: 1,
		Offline: v1alpha1.OfflineSkip})
	f.Now = 120
	s, v := Next(s, f)
	if v.Phase != RollingOut || v.Group != "second" || s.Of("b") != 2 {
		t.Fatalf("%+v %+v", s, v)
	}
	f.Targets[1].Well, f.Targets[1].WellSince = true, 120
	if s, v = Next(s, f); v.Phase != Complete || s.Default != 2 {
		t.Errorf("%+v %+v", s, v)
	}
}
