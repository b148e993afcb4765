package placement

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTolerationsEnd(t *testing.T) {
	added := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	seconds := func(n int64) *int64 { return &n }
	taint := func(key string, effect corev1.TaintEffect, after time.Duration) corev1.Taint {
		return corev1.Taint{Key: key, Effect: effect, TimeAdded: &metav1.Time{Time: added.Add(after)}}
	}
	tolerate := func(key string, n *int64) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: "NoExecute", TolerationSeconds: n}
	}
	for name, c := range map[string]struct {
		taints      []corev1.Taint
		tolerations []corev1.Toleration
		until       time.Time
		ends        bool
	}{
		"no taint":                  {},
		"NoSchedule does not evict": {taints: []corev1.Taint{taint("a", "NoSchedule", 0)}},
		"not tolerated":             {taints: []corev1.Taint{taint("a", "NoExecute", 0)}, ends: true},
		"tolerated for ever": {taints: []corev1.Taint{taint("a", "NoExecute", 0)},
			tolerations: []corev1.Toleration{tolerate("a", nil)}},
		"the shortest toleration counts": {taints: []corev1.Taint{taint("a", "NoExecute", 0)},
			tolerations: []corev1.Toleration{tolerate("a", seconds(60)), tolerate("a", seconds(30)), tolerate("a", nil)},
			until:       added.Add(30 * time.Second), ends: true},
		"the first taint to end counts": {
			taints:      []corev1.Taint{taint("a", "NoExecute", time.Minute), taint("b", "NoExecute", 0)},
			tolerations: []corev1.Toleration{tolerate("a", seconds(60)), tolerate("b", seconds(90))},
			until:       added.Add(90 * time.Second), ends: true},
		"one of two is not tolerated": {
			taints:      []corev1.Taint{taint("a", "NoExecute", 0), taint("b", "NoExecute", 0)},
			tolerations: []corev1.Toleration{tolerate("a", nil)}, ends: true},
		"a toleration of numbers matches nothing": {taints: []corev1.Taint{taint("a", "NoExecute", 0)},
			tolerations: []corev1.Toleration{{Key: "a", Operator: "Gt", Value: "1"}}, ends: true},
	} {
		if until, ends := ToleratedUntil(c.taints, c.tolerations); !until.Equal(c.until) || ends != c.ends {
			t.Errorf("%s: until %s %v, not %s %v", name, until, ends, c.until, c.ends)
		}
	}
}
