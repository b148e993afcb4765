package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

// replicas is the field of built-in kinds that an autoscaler decides about.
const replicas = "/spec/replicas"

// retainedFields returns the retained fields of an object that exists, as JSON pointers. They are
// those of the policy, and the replicas of a workload that an autoscaler on the target scales. The
// target is asked about autoscalers only where one was delivered or seen, or when somebody has just
// changed the replicas. A live object that was read already tells whether its replicas are zero.
func (a *Applier) retainedFields(
	ctx context.Context, t *task, live *target.Object, scaled bool,
) ([]string, error) {
	if t.stopped { // nobody but us decides whether it runs
		return nil, nil
	}
	custom := !tunnel.BuiltInGroup(t.Key.Group)
	if !custom && !hasReplicas(t.head.Spec, replicas) {
		return t.policy.RetainFields, nil
	}
	if !scaled && !t.record.Autoscaled && !a.Inventory.Any(func(k store.Key, _ inventory.Record) bool {
		return k.Resource == autoscalers.Plural && k.Group == autoscalers.Group && k.Namespace == t.Key.Namespace &&
			k.Space == t.Key.Space
	}) {
		return t.policy.RetainFields, nil
	}
	by, err := autoscalerOf(ctx, t)
	if err != nil {
		return nil, err
	}
	field := replicas
	if t.record.ScalePath = ""; by.found && custom {
		if field, err = a.scalePath(ctx, t); err != nil {
			return nil, err
		}
		if field != replicas {
			t.record.ScalePath = field
		}
	}
	t.record.Autoscaled, t.record.OwnAutoscaler = by.found, by.own
	off := !by.fromZero && (zeroReplicas(t.head.Spec, field) || live != nil && zeroReplicas(live.Spec, field))
	if !t.record.Autoscaled || off || !hasReplicas(t.head.Spec, field) {
		return t.policy.RetainFields, nil
	}
	return append([]string{field}, t.policy.RetainFields...), nil
}

func hasReplicas(spec json.RawMessage, field string) bool {
	_, has := target.NumberAt(spec, field)
	return has
}

// zeroReplicas reports that a workload shall have no pod. An autoscaler leaves such a workload alone,
// so whoever writes the object starts and stops it.
func zeroReplicas(spec json.RawMessage, field string) bool {
	n, has := target.NumberAt(spec, field)
	return has && n == 0
}

var (
	autoscalers = target.Resource{Group: "autoscaling", Version: "v2", Plural: "horizontalpodautoscalers"}
	definitions = target.Resource{Group: "apiextensions.k8s.io", Version: "v1", Plural: "customresourcedefinitions"}
)

// autoscaler is what is known of one that scales an object on the target.
type autoscaler struct {
	found    bool
	own      string // its name, where it was placed there, too
	fromZero bool   // it scales from zero replicas, too
}

// autoscalerOf looks for an autoscaler on the target that scales the object.
func autoscalerOf(ctx context.Context, t *task) (by autoscaler, err error) {
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
				if by.found = true; o.OriginUID() != "" {
					by.own = o.Metadata.Name
				}
				by.fromZero = by.fromZero || spec.MinReplicas != nil && *spec.MinReplicas == 0
			}
			return nil
		},
	)
	if err != nil && !hopeless(err) {
		return autoscaler{}, fmt.Errorf("look for an autoscaler of the object: %w", err)
	}
	return by, nil
}

// scalePath returns the field of a custom resource that its scale subresource writes, as the definition
// on the target says; that of built-in kinds where it does not say, or not to us.
func (a *Applier) scalePath(ctx context.Context, t *task) (string, error) {
	definition, err := a.find(ctx, t.client, definitions, store.Key{Name: t.Key.Resource + "." + t.Key.Group}, true)
	if err != nil && !hopeless(err) {
		return "", fmt.Errorf("read which field of %s an autoscaler sets: %w", t.Key, err)
	}
	var spec struct {
		Versions []struct {
			Name         string
			Subresources struct {
				Scale struct {
					SpecReplicasPath string `json:"specReplicasPath"`
				}
			}
		}
	}
	if definition == nil || json.Unmarshal(definition.Spec, &spec) != nil {
		return replicas, nil
	}
	version, err := schema.ParseGroupVersion(t.head.APIVersion)
	if err != nil {
		return replicas, nil
	}
	for _, v := range spec.Versions {
		if path := v.Subresources.Scale.SpecReplicasPath; v.Name == version.Version && path != "" {
			return strings.ReplaceAll(path, ".", "/"), nil // the API allows names between dots, and no more
		}
	}
	return replicas, nil
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
