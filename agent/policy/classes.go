package policy

import (
	"encoding/json"
	"strings"

	strict "k8s.io/apimachinery/pkg/util/json"
)

// Class is an object of the cluster that a workload names.
type Class struct{ Group, Version, Resource, Name string }

// Classes are the classes without which an object does nothing: of its Pods, of its claim.
func Classes(kind string, body []byte) (out []Class) {
	add := func(group, version, resource, name string) {
		if name != "" {
			out = append(out, Class{group, version, resource, name})
		}
	}
	if kind == "persistentvolumeclaims" {
		var o struct {
			Spec struct {
				StorageClassName string `json:"storageClassName"`
			} `json:"spec"`
		}
		if strict.Unmarshal(body, &o) == nil {
			add("storage.k8s.io", "v1", "storageclasses", o.Spec.StorageClassName)
		}
		return out
	}
	for _, at := range templates[kind] {
		var pod struct {
			Spec struct {
				PriorityClassName string `json:"priorityClassName"`
				RuntimeClassName  string `json:"runtimeClassName"`
			} `json:"spec"`
		}
		if below := field(body, at); below != nil && strict.Unmarshal(below, &pod) == nil {
			if !strings.HasPrefix(pod.Spec.PriorityClassName, "system-") {
				add("scheduling.k8s.io", "v1", "priorityclasses", pod.Spec.PriorityClassName)
			}
			add("node.k8s.io", "v1", "runtimeclasses", pod.Spec.RuntimeClassName)
		}
	}
	return out
}

// field returns the JSON at a path of fields with slashes between them, nil when there is none.
func field(body []byte, at string) []byte {
	for _, name := range strings.FieldsFunc(at, func(r rune) bool { return r == '/' }) {
		var level map[string]json.RawMessage
		if json.Unmarshal(body, &level) != nil {
			return nil
		}
		body = level[name]
	}
	return body
}
