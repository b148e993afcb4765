package apply

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// replicas is the field that an autoscaler decides about.
const replicas = "/spec/replicas"

// retainedFields returns the retained fields of an object that exists, as JSON pointers. They are
// those of the policy, and the replicas of a workload that an autoscaler on the target scales. The
// target is asked about autoscalers only where one was delivered or seen, or when somebody has just
// changed the replicas. A live object that was read already tells whether its replicas are zero.
func (a *Applier) retainedFields(
	ctx context.Context, t *task, live *target.Object, scaled bool,
) ([]string, error) {
	if a.Relay || !t.hasReplicas() {
		return t.policy.RetainFields, nil
	}
	if !scaled && !t.record.Autoscaled && !a.Inventory.Any(func(k store.Key, _ inventory.Record) bool {
		return k.Resource == autoscalers.Plural && k.Group == autoscalers.Group && k.Namespace == t.Key.Namespace &&
			k.Space == t.Key.Space
	}) {
		return t.policy.RetainFields, nil
	}
	var err error
	var fromZero bool
	if t.record.Autoscaled, fromZero, err = autoscaled(ctx, t); err != nil {
		return nil, err
	}
	off := !fromZero && (zeroReplicas(t.head.Spec) || live != nil && zeroReplicas(live.Spec))
	if !t.record.Autoscaled || off {
		return t.policy.RetainFields, nil
	}
	return append([]string{replicas}, t.policy.RetainFields...), nil
}

func (t *task) hasReplicas() bool {
	var spec struct {
		Replicas *json.RawMessage `json:"replicas"`
	}
	return json.Unmarshal(t.head.Spec, &spec) == nil && spec.Replicas != nil
}

// zeroReplicas reports that a workload shall have no pod. An autoscaler leaves such a workload alone,
// so whoever writes the object starts and stops it.
func zeroReplicas(spec json.RawMessage) bool {
	var s struct {
		Replicas *int64 `json:"replicas"`
	}
	return json.Unmarshal(spec, &s) == nil && s.Replicas != nil && *s.Replicas == 0
}

var autoscalers = target.Resource{Group: "autoscaling", Version: "v2", Plural: "horizontalpodautoscalers"}

// autoscaled reports whether an autoscaler on the target scales the object, and whether it does so
// from zero replicas, too.
func autoscaled(ctx context.Context, t *task) (found, fromZero bool, err error) {
	_, err = t.client.List(
		ctx,
		target.Listing{Resource: autoscalers, Namespace: t.at.Namespace},
		func(o *target.Object) error {
			var spec struct {
				ScaleTargetRef struct{ Kind, Name string } `json:"scaleTargetRef"`
				MinReplicas    *int32                      `json:"minReplicas"`
			}
			if json.Unmarshal(o.Spec, &spec) == nil && spec.ScaleTargetRef.Kind == t.head.Kind &&
				spec.ScaleTargetRef.Name == t.Key.Name {
				found = true
				fromZero = fromZero || spec.MinReplicas != nil && *spec.MinReplicas == 0
			}
			return nil
		},
	)
	if err != nil && !hopeless(err) {
		return false, false, fmt.Errorf("look for an autoscaler of the object: %w", err)
	}
	return found, fromZero, nil
}

// hopeless reports that the target will not say: it serves no autoscalers, or not to us.
func hopeless(err error) bool {
	return isNotServed(err) || apierrors.IsForbidden(err)
}

// yield returns the body that is applied to a known object, and its condition. If there are
// retained fields, the object must be the version that was read.
func (a *Applier) yield(ctx context.Context, t *task) ([]byte, target.Applying, error) {
	pointers, err := a.retainedFields(ctx, t, nil, false)
	if err != nil || len(pointers) == 0 {
		return t.Body, target.Applying{}, err
	}
	live, whole, err := t.read(ctx)
	if err != nil {
		return nil, target.Applying{}, err
	}
	if live == nil || live.Metadata.UID != t.record.UID {
		return nil, target.Applying{}, a.lose(t, errGone)
	}
	body, err := a.leaving(ctx, t, live, whole)
	return body, target.Applying{ResourceVersion: live.Metadata.ResourceVersion}, err
}
