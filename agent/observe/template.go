package observe

import (
	"encoding/json"
	"fmt"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/variant"
)

// historyPaths are where what a target keeps of a workload has its template.
var historyPaths = map[resource][]string{
	replicaSetResource: {"spec", "template"},
	revisionResource:   {"data", "spec", "template"},
}

// asInSpace returns a ReplicaSet or a ControllerRevision with the template that its space had: whoever goes
// back to it gives that to all targets. said is what Customizers have changed (variant.BaseAnnotation).
// Everything else, and what somebody at the target has changed, is reported as it is.
func asInSpace(k store.Key, said string, object []byte) ([]byte, error) {
	path, kept := historyPaths[resource{k.Group, k.Resource}]
	if said == "" || !kept {
		return object, nil
	}
	whole, err := target.Whole(object)
	if err != nil {
		return nil, fmt.Errorf("decode the history of a workload: %w", err)
	}
	template := whole
	for _, field := range path {
		template, _ = template[field].(map[string]any)
	}
	if template == nil || !variant.Base(template, said) {
		return object, nil
	}
	return json.Marshal(whole)
}
