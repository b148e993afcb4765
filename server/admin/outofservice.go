package admin

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// OutOfService says that nothing runs at a site any more, so that what must not run twice starts
// elsewhere without waiting for it. A site that is connected is refused: it says itself what runs.
func OutOfService(ctx context.Context, o TargetOptions) error {
	return o.change(ctx, func(u *unstructured.Unstructured) (map[string]any, string, error) {
		var t v1alpha1.SyncTarget
		if err := siteOf(u, &t); err != nil {
			return nil, "", err
		}
		if slices.ContainsFunc(t.Spec.Taints, isOutOfService) {
			return nil, "already out of service", nil
		}
		if apimeta.IsStatusConditionTrue(t.Status.Conditions, v1alpha1.ConditionConnected) {
			return nil, "", fmt.Errorf("site %s is connected, so it runs what is placed there; to empty it: skerry target "+
				"drain %s", o.Name, o.Name)
		}
		taints := append(slices.Clone(t.Spec.Taints), corev1.Taint{
			Key: v1alpha1.TaintOutOfService, Effect: corev1.TaintEffectNoExecute,
			TimeAdded: &metav1.Time{Time: time.Now().Truncate(time.Second)},
		})
		return map[string]any{"spec": map[string]any{"taints": taints}}, "out of service; make sure that its machines " +
			"stay off until they have a link to the center, and then: skerry target uncordon " + o.Name, nil
	})
}

func isOutOfService(t corev1.Taint) bool {
	return t.Key == v1alpha1.TaintOutOfService && t.Effect == corev1.TaintEffectNoExecute
}
