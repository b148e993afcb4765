package volumes

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
)

// What a Deployment says of its standby is read again as it was written.
func TestStandbyIsReadAgain(t *testing.T) {
	at := time.Date(2026, 1, 2, 14, 5, 0, 0, time.UTC)
	is := Standby{Claim: "data", Source: "paris", Target: "oslo", Every: "15m0s", Next: at,
		Last: &Round{At: at, Seconds: 1.5, Files: 2, Bytes: 3, Sent: 4}, Lost: &Lost{Since: at, Why: "why"}, Settled: true}
	patch := decoded(t, string(is.Patch(-1)))
	if patch["spec"] != nil {
		t.Error("it runs another number of Pods")
	}
	if n := fields.Map(decoded(t, string(is.Patch(0))), "spec")["replicas"]; n != 0.0 {
		t.Errorf("it runs %v Pods", n)
	}
	got := ParseStandby(fields.String(patch, "metadata", "annotations", v1alpha1.AnnotationStandby))
	if got == nil || *got.Last != *is.Last || *got.Lost != *is.Lost || !got.Next.Equal(at) || !got.Settled || got.Released {
		t.Errorf("%+v", got)
	}
	for _, text := range []string{"", "no", "[]"} {
		if s := ParseStandby(text); s != nil {
			t.Errorf("%q is %+v", text, s)
		}
	}
}

func TestWhatIsSaidOfAStandby(t *testing.T) {
	at := time.Date(2026, 1, 2, 14, 5, 0, 0, time.UTC)
	last, since := &Round{At: at}, at.Add(12*time.Minute)
	for want, s := range map[string]Standby{
		"no whole round yet": {},
		"oslo holds what paris had at 2026-01-02T14:05:00Z":                           {Last: last},
		"oslo holds what paris had at 2026-01-02T14:05:00Z; the disk is full":         {Last: last, Problem: "the disk is full"},
		"no whole round yet, and paris went silent at 2026-01-02T14:17:00Z; it waits": {Lost: &Lost{Since: since, Why: "it waits"}},
		"12m0s before paris went silent; it waits":                                    {Last: last, Lost: &Lost{Since: since, Why: "it waits"}},
		"12m0s before paris went silent; to begin there: skerry volume promote":       {Last: last, Lost: &Lost{Since: since, Certain: true}, Every: "3m"},
		"12m0s before paris went silent: older than maxAge (11m0s), so nothing begins there by itself; to begin there: skerry volume promote": {
			Last: last, Lost: &Lost{Since: since, Certain: true}, MaxAge: "11m"},
		"older than maxAge (10m0s), so nothing begins there by itself; it waits": {Last: last, Every: "1m",
			Lost: &Lost{Since: since, Why: "it waits"}},
	} {
		s.Source, s.Target = "paris", "oslo"
		if got := s.Says(); !strings.HasSuffix(got, want) {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// A unit begins by itself on what is at most some rounds old, or as old as somebody has said.
func TestHowOldAStandbyMayBe(t *testing.T) {
	span := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	for want, how := range map[time.Duration]v1alpha1.VolumeReplication{
		time.Hour:        {},
		10 * time.Minute: {Every: span(time.Minute)},
		4 * time.Hour:    {Every: span(time.Hour)},
		time.Minute:      {Every: span(time.Minute), MaxAge: span(time.Minute)},
	} {
		if is := MaxAge(&how); is != want {
			t.Errorf("%+v: %s, not %s", how, is, want)
		}
	}
	at := time.Date(2026, 1, 2, 14, 5, 0, 0, time.UTC)
	s := Standby{Last: &Round{At: at}, MaxAge: "1h"}
	if age, old := s.TooOld(at.Add(time.Hour)); old || age != time.Hour {
		t.Errorf("%s is too old: %v", age, old)
	}
	if _, old := s.TooOld(at.Add(time.Hour + time.Second)); !old {
		t.Error("it is too old")
	}
	if _, old := (&Standby{MaxAge: "1h"}).TooOld(at); old {
		t.Error("what is not there is too old")
	}
}

// The movers of a standby are others than those of a move between the same targets.
func TestSidesOfAStandby(t *testing.T) {
	m, c := *move, Claim{Namespace: "web", Name: "data", UID: "c-uid"}
	m.Standby = true
	seen := map[string]bool{}
	for _, of := range []*Move{move, &m} {
		for _, side := range of.Sides() {
			k := MoverKey(of, c, side)
			mark, ok := ParseMark(Mark{of.Unit, of.FromUID, of.ToUID, side}.String())
			if seen[k.Name] || !ok || mark.Side != side || side.Replicates() != of.Standby {
				t.Errorf("%s: %s, %v", side, k.Name, mark)
			}
			seen[k.Name] = true
			at := fields.String(Mover(k, of, c, side, "image", map[string]any{}, ""), "metadata", "labels", v1alpha1.LabelTarget)
			if want := map[bool]string{true: "paris", false: "oslo"}[side.Reads()]; at != want {
				t.Errorf("%s is at %s", side, at)
			}
		}
	}
	if text := string(WakeUpAt("node-2")); !strings.Contains(text, `"values":["node-2"]`) || !strings.Contains(text, `"replicas":1`) {
		t.Error(text)
	}
}
