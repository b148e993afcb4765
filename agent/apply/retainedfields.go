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
// changed the replicas.
func (a *Applier) retainedFields(ctx context.Context, t *task, scaled bool) ([]string, error) {
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
	if t.record.Autoscaled, err = autoscaled(ctx, t); err != nil {
		return nil, err
	}
	if !t.record.Autoscaled {
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

var autoscalers = target.Resource{Group: "autoscaling", Version: "v2", Plural: "horizontalpodautoscalers"}

// autoscaled reports whether an autoscaler on the target scales the object.
func autoscaled(ctx context.Context, t *task) (found bool, err error) {
	_, err = t.client.List(
		ctx,
		target.Listing{Resource: autoscalers, Namespace: t.at.Namespace},
		func(o *target.Object) error {
			var spec struct {
				ScaleTargetRef struct{ Kind, Name string } `json:"scaleTargetRef"`
			}
			if json.Unmarshal(o.Spec, &spec) == nil && spec.ScaleTargetRef.Kind == t.head.Kind &&
				spec.ScaleTargetRef.Name == t.Key.Name {
				found = true
			}
			return nil
		},
	)
	if err != nil && !hopeless(err) {
		return false, fmt.Errorf("look for an autoscaler of the object: %w", err)
	}
	return found, nil
}

// hopeless reports that the target will not say: it serves no autoscalers, or not to us.
func hopeless(err error) bool {
	return isNotServed(err) || apierrors.IsForbidden(err)
}

// yield returns the body that is applied to a known object, and its condition. If there are
// retained fields, the object must be the version that was read.
func (a *Applier) yield(ctx context.Context, t *task) ([]byte, target.Applying, error) {
	pointers, err := a.retainedFields(ctx, t, false)
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
