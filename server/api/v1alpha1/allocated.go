package v1alpha1

import (
	"encoding/json"
	"reflect"
	"slices"
)

// Allocated is the value of AnnotationAllocated, as JSON: what the target of an object has chosen,
// as far as the object shows it. A field that holds the value that stands here is the target's
// choice and goes to no target; one that holds another value is the user's wish and goes to each.
//
// +kubebuilder:object:generate=false
type Allocated struct {
	// ClusterIP of a Service, and with it clusterIPs.
	ClusterIP string `json:"clusterIP,omitempty"`
	// NodePorts of a Service, in the order of its ports.
	NodePorts []int64 `json:"nodePorts,omitempty"`
	// HealthCheckNodePort of a Service.
	HealthCheckNodePort int64 `json:"healthCheckNodePort,omitempty"`
	// IPFamilies and IPFamilyPolicy of a Service.
	IPFamilies     []string `json:"ipFamilies,omitempty"`
	IPFamilyPolicy string   `json:"ipFamilyPolicy,omitempty"`
	// VolumeName and StorageClass of a claim.
	VolumeName   string `json:"volumeName,omitempty"`
	StorageClass string `json:"storageClass,omitempty"`
	// Controller is the UID of the owner that has taken over a Pod.
	Controller string `json:"controller,omitempty"`
}

// ReadAllocated reads AnnotationAllocated of an object's annotations, which are a map of strings or
// of decoded JSON. A value that cannot be read counts as none.
func ReadAllocated[V any](annotations map[string]V) (a Allocated) {
	text, _ := any(annotations[AnnotationAllocated]).(string)
	if text != "" && json.Unmarshal([]byte(text), &a) != nil {
		return Allocated{}
	}
	return a
}

// String is the value of the annotation; empty for nothing.
func (a Allocated) String() string {
	if reflect.ValueOf(a).IsZero() {
		return ""
	}
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // strings and numbers
	}
	return string(text)
}

// HasNodePort reports whether a node port is one that the target has chosen.
func (a Allocated) HasNodePort(port int64) bool {
	return port != 0 && slices.Contains(a.NodePorts, port)
}
