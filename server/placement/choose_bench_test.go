package placement

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// fleet is 1,000 targets in 20 regions and 5 tiers, and 200 Placements of all sorts.
func fleet(tb testing.TB) (World, []*Rule) {
	w := World{}
	for i := range 1000 {
		w.Targets = append(w.Targets, Target{
			Name: fmt.Sprintf("site-%04d", i), Connected: i%17 != 0, Objects: i % 97,
			Labels: labels.Set{"region": fmt.Sprintf("r%02d", i%20), "tier": fmt.Sprintf("t%d", i%5), "store": fmt.Sprint(i)},
			Facts: &Facts{
				KubernetesVersion: fmt.Sprintf("v1.%d.2", 30+i%4),
				Properties:        map[string]string{"gpu": fmt.Sprint(i % 3)},
				Allocatable:       corev1.ResourceList{"cpu": resource.MustParse("8")},
				Allocated:         corev1.ResourceList{"cpu": resource.MustParse(fmt.Sprint(i % 8))},
			},
		})
		if i%50 == 0 {
			w.Targets[i].Taints = []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoSchedule}}
		}
	}
	var rules []*Rule
	for i := range 200 {
		count, groups, skew := int32(10), int32(3), int32(2)
		at := v1alpha1.TargetClause{Selectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"tier": fmt.Sprintf("t%d", i%5)}}}}
		switch i % 8 {
		case 0:
			at.Count = &count
		case 1:
			at.Count, at.Spread = &count, []v1alpha1.Spread{{By: "region", MinGroups: &groups, MaxSkew: &skew}}
		case 2:
			at.KubernetesVersion = ">=1.31.0 <1.33.0"
		case 3:
			at.Properties = []v1alpha1.PropertyRequirement{{Name: "gpu", Operator: v1alpha1.PropertyGt, Values: []string{"0"}}}
		case 4:
			at.CEL = []v1alpha1.TargetExpression{{Expression: "target.labels['region'] != 'r03' && target.properties['gpu'] == '1'"}}
		case 5:
			at.Count, at.Preferences = &count, []v1alpha1.TargetPreference{{Weight: 10, FreeCapacity: "cpu"}}
		case 6:
			at.Tolerations = []corev1.Toleration{{Operator: "Exists"}}
		case 7:
			at.Names = []string{fmt.Sprintf("site-%04d", i)}
		}
		r, err := Compile(fmt.Sprintf("p%d", i), "", v1alpha1.PlacementSpec{Targets: at})
		if err != nil {
			tb.Fatal(err)
		}
		rules = append(rules, r)
	}
	return w, rules
}

// BenchmarkResolve chooses for all 200 Placements among all 1,000 targets.
func BenchmarkResolve(b *testing.B) {
	w, rules := fleet(b)
	b.ReportAllocs()
	for b.Loop() {
		for _, r := range rules {
			Choose(r.Wish, w, nil)
		}
	}
}

// BenchmarkLabelChange has one target get another tier: of all 200 Placements those are chosen for
// again that this can change.
func BenchmarkLabelChange(b *testing.B) {
	w, rules := fleet(b)
	current := make([][]string, len(rules))
	for i, r := range rules {
		current[i] = Choose(r.Wish, w, nil).Targets
	}
	before := w.Targets[123]
	now := before
	now.Labels = labels.Set{"region": "r03", "tier": "t1", "store": "123"}
	w.Targets[123] = now
	b.ReportAllocs()
	again := 0
	for b.Loop() {
		again = 0
		for i, r := range rules {
			if r.Wish.Affects(w, before, now) {
				Choose(r.Wish, w, current[i])
				again++
			}
		}
	}
	b.ReportMetric(float64(again), "chosen-again")
}
