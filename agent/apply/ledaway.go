package apply

import (
	"encoding/json"
	"errors"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/variants"
	"skerry.dev/skerry/store"
)

// Callers are led to another site before what answers them here is deleted. Its methods must not block.
type Callers interface {
	// Leaving is told that Pods with these labels are about to be deleted in a namespace of the target. It returns
	// after how long to ask again, 0 when they may go.
	Leaving(namespace string, pods map[string]string) time.Duration
	// LedAway reports whether a Service of a space is to have no Pods here.
	LedAway(k store.Key) bool
}

// leavesLater is after how long to ask again whether a workload may be deleted, 0 when it may.
func leavesLater(c Callers, k, at store.Key, live *target.Object) time.Duration {
	if c == nil {
		return 0
	}
	if pods := podLabels(k, live); len(pods) > 0 {
		return c.Leaving(at.Namespace, pods)
	}
	return 0
}

// podLabels are the labels of the Pods that end with an object and serve until then, nil for one without such Pods.
func podLabels(k store.Key, live *target.Object) map[string]string {
	switch k.Group + "/" + k.Resource {
	case "/pods":
		return live.Metadata.Labels
	case "apps/deployments", "apps/statefulsets", "apps/daemonsets", "apps/replicasets", "/replicationcontrollers":
	default:
		return nil
	}
	var spec struct {
		Template struct {
			Metadata struct{ Labels map[string]string }
		}
	}
	if json.Unmarshal(live.Spec, &spec) != nil {
		return nil
	}
	return spec.Template.Metadata.Labels
}

// leadAway replaces the variant of a Service whose callers are led away by one that selects no Pods.
func leadAway(c Callers, e store.Entry, v *variants.Variant) error {
	if c == nil || !e.Key.IsService() || !c.LedAway(e.Key) {
		return nil
	}
	return reshape(e, v, func(o map[string]any) (bool, error) {
		spec, _ := o["spec"].(map[string]any)
		selector, _ := spec["selector"].(map[string]any)
		if selector == nil {
			return false, errors.New("a Service that leads its callers away has no selector")
		}
		selector[target.LabelLedAway] = "true"
		return true, nil
	})
}
