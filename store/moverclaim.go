package store

import "encoding/json"

// AnnotationMoverClaim stands on a Deployment that copies the volume of a claim which the templates of a StatefulSet
// make: a MoverClaim as JSON.
const AnnotationMoverClaim = "skerry.dev/mover-claim"

// MoverClaim is a claim that the templates of a StatefulSet make, for a Deployment that mounts it to copy it. When the
// Deployment is removed and the target is not to have the StatefulSet, the claim is deleted.
type MoverClaim struct {
	Name string `json:"name"`
	// Set is the name of the StatefulSet.
	Set    string            `json:"set"`
	Labels map[string]string `json:"labels,omitempty"`
	Spec   json.RawMessage   `json:"spec,omitempty"`
	// Make: the claim is made where it is missing, before the Pods that mount it.
	Make bool `json:"make,omitempty"`
	// Of is how many claims the move has.
	Of int `json:"of"`
}
