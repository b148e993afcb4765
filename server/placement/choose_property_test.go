package placement

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// drawTarget is a target of a few regions and zones, with few of everything that a filter asks for.
func drawTarget(t *rapid.T, name string) Target {
	one := Target{
		Name: name, Connected: rapid.Bool().Draw(t, "connected"), Objects: rapid.IntRange(0, 3).Draw(t, "objects"),
		Unschedulable: rapid.IntRange(0, 5).Draw(t, "cordoned") == 0,
		Labels:        labels.Set{"zone": rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "zone")},
	}
	if r := rapid.SampledFrom([]string{"", "eu", "us", "asia"}).Draw(t, "region"); r != "" {
		one.Labels["region"] = r
	}
	if e := rapid.SampledFrom([]corev1.TaintEffect{"", "", "", "NoSchedule", "NoExecute"}).Draw(t, "taint"); e != "" {
		one.Taints = []corev1.Taint{{Key: "k", Effect: e}}
	}
	if v := rapid.SampledFrom([]string{"", "v1.30.1", "v1.33.0"}).Draw(t, "version"); v != "" {
		one.Facts = &Facts{KubernetesVersion: v, Properties: map[string]string{"p": rapid.SampledFrom([]string{"1", "2"}).Draw(t, "p")}}
	}
	return one
}

func drawWorld(t *rapid.T) World {
	w := World{}
	for i := range rapid.IntRange(0, 8).Draw(t, "targets") {
		w.Targets = append(w.Targets, drawTarget(t, fmt.Sprintf("t%d", i)))
	}
	w.Neighbours = []Neighbour{{Name: "other", Targets: []string{"t1"}}}
	w.Self.Name = "self"
	return w
}

func drawWish(t *rapid.T) Wish {
	c := v1alpha1.TargetClause{Selectors: []metav1.LabelSelector{{}}}
	if rapid.Bool().Draw(t, "selects") {
		c.Selectors = []metav1.LabelSelector{{MatchLabels: map[string]string{"zone": "a"}}, {MatchLabels: map[string]string{"zone": "b"}}}
	}
	if n := rapid.Int32Range(0, 5).Draw(t, "count"); n > 0 {
		c.Count = &n
	}
	if rapid.Bool().Draw(t, "ranged") {
		c.KubernetesVersion = ">=1.32.0"
	}
	if rapid.Bool().Draw(t, "tolerates") {
		c.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	}
	for _, by := range []string{"region", "zone"} {
		groups, skew := rapid.Int32Range(0, 3).Draw(t, "groups"), rapid.Int32Range(0, 2).Draw(t, "skew")
		s := v1alpha1.Spread{By: by}
		if groups > 0 && (c.Count == nil || groups <= *c.Count) {
			s.MinGroups = &groups
		}
		if skew > 0 {
			s.MaxSkew = &skew
		}
		if s.MinGroups != nil || s.MaxSkew != nil {
			c.Spread = append(c.Spread, s)
		}
	}
	switch rapid.IntRange(0, 3).Draw(t, "relation") {
	case 0:
		c.Affinity = []v1alpha1.PlacementAffinity{{Placements: []string{"other"}, By: "region"}}
	case 1:
		c.AntiAffinity = []v1alpha1.PlacementAffinity{{Placements: []string{"other"}}}
	}
	r, err := Compile("self", "", v1alpha1.PlacementSpec{Targets: c})
	if err != nil {
		t.Fatal(err)
	}
	return r.Wish
}

// What is chosen stays chosen, is not more than is wished, and is even as far as one spread goes.
func TestAChoiceIsStableAndKeepsItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, wish := drawWorld(t), drawWish(t)
		var current []string
		for _, one := range w.Targets {
			if rapid.IntRange(0, 2).Draw(t, "used") == 0 {
				current = append(current, one.Name)
			}
		}
		c, verdicts := Explain(wish, w, current)
		// Where several spreads limit each other, what is in use may leave room for one more in the
		// next choice. What was chosen stays.
		again := Choose(wish, w, c.Targets).Targets
		if several := wish.Constraints != nil && len(wish.Constraints.spread) > 1; several {
			again = slices.DeleteFunc(again, func(name string) bool { return !slices.Contains(c.Targets, name) })
		}
		if !slices.Equal(again, c.Targets) {
			t.Fatalf("%v, and then %v", c.Targets, again)
		}
		if wish.Count > 0 && len(c.Targets) > wish.Count {
			t.Fatalf("%d of %d", len(c.Targets), wish.Count)
		}
		groups := map[string]map[string]int{"region": {}, "zone": {}}
		used := map[string]map[string]int{"region": {}, "zone": {}}
		for _, v := range verdicts {
			one, _ := w.target(v.Target)
			in := slices.Contains(c.Targets, v.Target)
			if in != v.Chosen {
				t.Fatalf("%s: %v, but the choice is %v", v.Target, v, c.Targets)
			}
			for by := range groups {
				if in || v.Filter == FilterCount || v.Filter == FilterSpread || v.Filter == "" {
					groups[by][one.Labels[by]]++
				}
				if in {
					used[by][one.Labels[by]]++
				}
			}
		}
		if wish.Constraints == nil {
			return
		}
		for _, s := range wish.Constraints.spread {
			if s.MaxSkew == nil || len(wish.Constraints.spread) > 1 {
				continue
			}
			least := 1 << 30
			for group := range groups[s.By] {
				least = min(least, used[s.By][group])
			}
			if s.MinGroups != nil && len(groups[s.By]) < int(*s.MinGroups) {
				least = 0
			}
			for group, n := range used[s.By] {
				if n > least+int(*s.MaxSkew) {
					t.Fatalf("%s has %d, another %d: %v of %v", group, n, least, c.Targets, groups)
				}
			}
		}
	})
}

// A change of a target that is said not to matter changes no decision.
func TestWhatDoesNotAffectChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, wish := drawWorld(t), drawWish(t)
		if len(w.Targets) == 0 {
			return
		}
		before := Choose(wish, w, nil)
		i := rapid.IntRange(0, len(w.Targets)-1).Draw(t, "changes")
		was := w.Targets[i]
		now := drawTarget(t, was.Name)
		now.Connected, now.Objects = was.Connected, was.Objects
		if rapid.Bool().Draw(t, "little") {
			now = was
			now.Labels = labels.Set{"region": was.Labels["region"], "zone": was.Labels["zone"], "new": "x"}
			if !was.Labels.Has("region") {
				delete(now.Labels, "region")
			}
		}
		changed := w
		changed.Targets = slices.Clone(w.Targets)
		changed.Targets[i] = now
		after := Choose(wish, changed, before.Targets)
		if !wish.Affects(changed, was, now) && !slices.Equal(before.Targets, after.Targets) {
			t.Fatalf("%v becomes %v", before.Targets, after.Targets)
		}
	})
}

// Everything is cordoned, and two zones are too few for three: each may have one target, so t2 goes.
// It cannot come back, so the one region that is left may have one target, too.
func TestWhatSpreadsTurnAwayIsNotCountedOn(t *testing.T) {
	three, two, one := int32(3), int32(2), int32(1)
	r, err := Compile("self", "", v1alpha1.PlacementSpec{Targets: v1alpha1.TargetClause{
		Selectors: []metav1.LabelSelector{{}},
		Spread: []v1alpha1.Spread{
			{By: "region", MinGroups: &two, MaxSkew: &one}, {By: "zone", MinGroups: &three, MaxSkew: &one},
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	w := World{Targets: []Target{
		{Name: "t0", Unschedulable: true, Labels: labels.Set{"region": "us", "zone": "a"}},
		{Name: "t1", Unschedulable: true, Labels: labels.Set{"region": "us", "zone": "b"}},
		{Name: "t2", Unschedulable: true, Labels: labels.Set{"region": "eu", "zone": "a"}},
	}}
	c := Choose(r.Wish, w, []string{"t0", "t1", "t2"})
	if !slices.Equal(c.Targets, []string{"t0"}) || len(c.Left) != 2 ||
		c.Left[0].Filter != FilterSpread || c.Left[1].Filter != FilterSpread {
		t.Errorf("%v, left %v", c.Targets, c.Left)
	}
}
