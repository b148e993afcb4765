package apply

import (
	"encoding/json"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/lease"
)

// endsWithPods reports whether a workload is deleted so that it goes when its Pods have gone, and not before: it
// must not run twice, or a NetworkPolicy leaves with it. The parent may begin it elsewhere as soon as it is gone
// here, and a Pod may take its time to end. One that has run to its end has nothing to wait for.
func (s shields) endsWithPods(k store.Key, live *target.Object, r inventory.Record) (bool, error) {
	if r.Finished || k.Resource == "pods" || !runsPods(k) {
		return false, nil
	}
	if mustNotRunTwice(k, live) {
		return true, nil
	}
	return s.covers(k, live)
}

// mustNotRunTwice reports whether a workload must not run twice.
func mustNotRunTwice(k store.Key, live *target.Object) bool {
	var spec map[string]any
	if json.Unmarshal(live.Spec, &spec) != nil {
		return false
	}
	annotations := map[string]any{}
	for name, v := range live.Metadata.Annotations {
		annotations[name] = v
	}
	w, _ := lease.Read(k, map[string]any{"metadata": map[string]any{"annotations": annotations}, "spec": spec})
	return w.Once || len(w.Claims) > 0
}
