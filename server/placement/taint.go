package placement

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Untolerated returns the first taint that no toleration matches.
func Untolerated(taints []corev1.Taint, tolerations []corev1.Toleration) (*corev1.Taint, bool) {
	for i := range taints {
		if _, tolerated, _ := toleration(&taints[i], tolerations); !tolerated {
			return &taints[i], true
		}
	}
	return nil, false
}

// ToleratedUntil says until when objects may stay on a target with taints. Only taints with the
// effect NoExecute make them leave. Ends is false when they may stay for ever, and until is the
// zero time when they may not stay at all. Of several tolerations of one taint the shortest counts.
func ToleratedUntil(taints []corev1.Taint, tolerations []corev1.Toleration) (until time.Time, ends bool) {
	for i := range taints {
		taint := &taints[i]
		if taint.Effect != corev1.TaintEffectNoExecute {
			continue
		}
		left, tolerated, limited := toleration(taint, tolerations)
		if !tolerated {
			return time.Time{}, true
		}
		if !limited {
			continue
		}
		var end time.Time
		if taint.TimeAdded != nil {
			end = taint.TimeAdded.Add(left)
		}
		if !ends || end.Before(until) {
			until, ends = end, true
		}
	}
	return until, ends
}

// toleration is how one taint is tolerated: for how long, if that is limited.
func toleration(taint *corev1.Taint, list []corev1.Toleration) (left time.Duration, tolerated, limited bool) {
	for i := range list {
		t := &list[i]
		if !matchesTaint(t, taint) {
			continue
		}
		tolerated = true
		if s := t.TolerationSeconds; s != nil && taint.Effect == corev1.TaintEffectNoExecute {
			if d := time.Duration(*s) * time.Second; !limited || d < left {
				left, limited = d, true
			}
		}
	}
	return left, tolerated, limited
}

// matchesTaint reports whether a toleration matches a taint, as core/v1 has it. Operators that
// compare numbers match nothing: no taint of a target is a number.
func matchesTaint(t *corev1.Toleration, taint *corev1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
		return false
	}
	switch t.Operator {
	case "", corev1.TolerationOpEqual:
		return t.Key != "" && t.Value == taint.Value
	case corev1.TolerationOpExists:
		return true
	default:
		return false
	}
}

// sameTaints reports whether two targets have the same taints, added at the same time.
func sameTaints(a, b []corev1.Taint) bool {
	return slices.EqualFunc(a, b, func(a, b corev1.Taint) bool {
		return a.Key == b.Key && a.Value == b.Value && a.Effect == b.Effect && a.TimeAdded.Equal(b.TimeAdded)
	})
}
