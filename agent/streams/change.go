package streams

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel/exchange"
)

// changing is a patch of metadata and of a claim's size, or of conditions, of that very object.
func changing(t target.Talk, r *exchange.Request) (target.Talk, error) {
	c, err := r.Change()
	if err != nil {
		return t, err
	}
	t.Method, t.Subresource, t.ContentType = http.MethodPatch, "", "application/merge-patch+json"
	if len(c.Conditions) > 0 {
		t.Subresource, t.ContentType = "status", "application/strategic-merge-patch+json"
		return with(t, map[string]any{
			"metadata": map[string]any{"uid": r.UID},
			"status":   map[string]any{"conditions": c.Conditions},
		})
	}
	metadata := map[string]any{"uid": r.UID}
	if len(c.Labels) > 0 {
		metadata["labels"] = c.Labels
	}
	if len(c.Annotations) > 0 {
		metadata["annotations"] = c.Annotations
	}
	patch := map[string]any{"metadata": metadata}
	if c.Storage != "" {
		patch["spec"] = map[string]any{
			"resources": map[string]any{"requests": map[string]any{"storage": c.Storage}},
		}
	}
	return with(t, patch)
}

// mayChange refuses a change by which the object would belong to nobody any more, or that says what
// only the cluster can say of a Pod.
func mayChange(
	ctx context.Context,
	c *target.Client,
	r *exchange.Request,
	namespace string,
	live *target.Object,
) error {
	change, err := r.Change()
	if err != nil {
		return err
	}
	if err := gatesOnly(live, change.Conditions); err != nil {
		return err
	}
	if len(change.Labels) == 0 {
		return nil
	}
	return staysOwned(ctx, c, namespace, live, change.Labels)
}

// gatesOnly refuses conditions that the Pod's spec.readinessGates do not name.
func gatesOnly(live *target.Object, conditions []exchange.Condition) error {
	if len(conditions) == 0 {
		return nil
	}
	var spec struct {
		ReadinessGates []struct{ ConditionType string }
	}
	if err := json.Unmarshal(live.Spec, &spec); err != nil {
		return fmt.Errorf("decode the pod's readiness gates: %w", err)
	}
	for _, condition := range conditions {
		named := slices.ContainsFunc(
			spec.ReadinessGates,
			func(g struct{ ConditionType string }) bool {
				return g.ConditionType == condition.Type
			},
		)
		if !named {
			return refused(
				"status.conditions[%s]: the pod's spec.readinessGates does not name it; "+
					"other conditions are the site's to write",
				condition.Type,
			)
		}
	}
	return nil
}

// selecting are the kinds of Kubernetes that let go of a Pod whose labels they do not select.
var selecting = map[string]target.Resource{
	"apps/ReplicaSet":        {Group: "apps", Version: "v1", Plural: "replicasets"},
	"apps/StatefulSet":       {Group: "apps", Version: "v1", Plural: "statefulsets"},
	"apps/DaemonSet":         {Group: "apps", Version: "v1", Plural: "daemonsets"},
	"apps/Deployment":        {Group: "apps", Version: "v1", Plural: "deployments"},
	"batch/Job":              {Group: "batch", Version: "v1", Plural: "jobs"},
	"/ReplicationController": {Version: "v1", Plural: "replicationcontrollers"},
}

// staysOwned refuses labels by which what controls the object would not select it any more: it
// would let go of it, and nobody in the space could see it or end it.
func staysOwned(
	ctx context.Context,
	c *target.Client,
	namespace string,
	live *target.Object,
	change map[string]*string,
) error {
	owner, resource, ok := controllerOf(live)
	if !ok {
		return nil
	}
	above, err := c.Get(context.WithoutCancel(ctx), resource, namespace, owner.Name, false)
	switch {
	case apierrors.IsNotFound(err), err == nil && above.Metadata.UID != owner.UID:
		return nil // it goes, and what it controls with it
	case err != nil:
		return unreachable(err)
	}
	selector, err := selectorOf(above)
	if err != nil {
		return err
	}
	after := maps.Clone(live.Metadata.Labels)
	if after == nil {
		after = map[string]string{}
	}
	for name, value := range change {
		if delete(after, name); value != nil {
			after[name] = *value
		}
	}
	if selector.Matches(labels.Set(live.Metadata.Labels)) && !selector.Matches(labels.Set(after)) {
		return refused("metadata.labels: %s %s at the site selects %s and would let go of it, "+
			"and nobody could see it in the space; delete it instead", owner.Kind, owner.Name, selector)
	}
	return nil
}

func controllerOf(live *target.Object) (target.Owner, target.Resource, bool) {
	for _, o := range live.Metadata.OwnerReferences {
		if !o.Controller {
			continue
		}
		group, _, found := strings.Cut(o.APIVersion, "/")
		if !found {
			group = ""
		}
		resource, ok := selecting[group+"/"+o.Kind]
		return o, resource, ok
	}
	return target.Owner{}, target.Resource{}, false
}

// selectorOf reads a selector: an object, or of a ReplicationController the labels themselves.
func selectorOf(above *target.Object) (labels.Selector, error) {
	var spec struct{ Selector json.RawMessage }
	if err := json.Unmarshal(above.Spec, &spec); err != nil {
		return nil, fmt.Errorf("decode the selector of %s: %w", above.Metadata.Name, err)
	}
	if above.Kind == "ReplicationController" {
		var set map[string]string
		if err := json.Unmarshal(spec.Selector, &set); err != nil {
			return nil, fmt.Errorf("decode the selector of %s: %w", above.Metadata.Name, err)
		}
		return labels.SelectorFromSet(set), nil
	}
	var selector metav1.LabelSelector
	if err := json.Unmarshal(spec.Selector, &selector); err != nil {
		return nil, fmt.Errorf("decode the selector of %s: %w", above.Metadata.Name, err)
	}
	return metav1.LabelSelectorAsSelector(&selector)
}

// refused says which field may not be changed so.
func refused(format string, args ...any) error {
	return &exchange.Fault{
		Code:    http.StatusUnprocessableEntity,
		Reason:  string(metav1.StatusReasonInvalid),
		Message: fmt.Sprintf(format, args...),
	}
}
