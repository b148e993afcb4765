package admin

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// Cordon keeps new decisions away from a site. What is there stays.
func Cordon(ctx context.Context, o TargetOptions) error {
	return o.change(ctx, func(u *unstructured.Unstructured) (map[string]any, string, error) {
		var t v1alpha1.SyncTarget
		if err := siteOf(u, &t); err != nil || t.Spec.Unschedulable {
			return nil, "already cordoned", err
		}
		return map[string]any{"spec": map[string]any{"unschedulable": true}}, "cordoned", nil
	})
}

// Uncordon lets a site take something new again, and ends its drain and its being out of service. What
// has left stays where it is.
func Uncordon(ctx context.Context, o TargetOptions) error {
	return o.change(ctx, func(u *unstructured.Unstructured) (map[string]any, string, error) {
		var t v1alpha1.SyncTarget
		if err := siteOf(u, &t); err != nil {
			return nil, "", err
		}
		rest := slices.DeleteFunc(slices.Clone(t.Spec.Taints), func(t corev1.Taint) bool {
			return isDrain(t) || isOutOfService(t)
		})
		if !t.Spec.Unschedulable && len(rest) == len(t.Spec.Taints) {
			return nil, "already uncordoned", nil
		}
		return map[string]any{"spec": map[string]any{"unschedulable": false, "taints": orNil(rest)}}, "uncordoned", nil
	})
}

// patch cordons a site and wishes that everything leaves it. It is nil where that is so already.
func (o DrainOptions) patch(u *unstructured.Unstructured) (map[string]any, string, error) {
	var t v1alpha1.SyncTarget
	if err := siteOf(u, &t); err != nil {
		return nil, "", err
	}
	said, spec, jobs := "cordoned", map[string]any{}, v1alpha1.DrainJobsWait
	if t.Spec.Unschedulable {
		said = "already cordoned"
	}
	if t.Spec.Drain != nil && t.Spec.Drain.Jobs != "" {
		jobs = t.Spec.Drain.Jobs
	}
	if o.Jobs != "" && o.Jobs != jobs {
		jobs = o.Jobs
		spec["drain"] = map[string]any{"jobs": jobs}
	}
	if jobs == v1alpha1.DrainJobsRestart {
		said += "; Jobs that have begun there are stopped, and begin anew elsewhere"
	}
	if !slices.ContainsFunc(t.Spec.Taints, isDrain) || !t.Spec.Unschedulable {
		spec["unschedulable"] = true
		spec["taints"] = append(slices.DeleteFunc(slices.Clone(t.Spec.Taints), isDrain), corev1.Taint{
			Key: v1alpha1.TaintDrain, Effect: corev1.TaintEffectNoExecute,
			TimeAdded: &metav1.Time{Time: time.Now().Truncate(time.Second)},
		})
	}
	if len(spec) == 0 {
		return nil, said, nil
	}
	return map[string]any{"spec": spec}, said, nil
}

func isDrain(t corev1.Taint) bool {
	return t.Key == v1alpha1.TaintDrain && t.Effect == corev1.TaintEffectNoExecute
}

// orNil is a list in a merge patch; an empty one removes the field.
func orNil(taints []corev1.Taint) any {
	if len(taints) == 0 {
		return nil
	}
	return taints
}
