package store

import (
	"encoding/json"
	"strconv"
	"strings"
)

// AnnotationMoverClaim stands on a Deployment that copies the volume of a claim which the templates of a StatefulSet
// make: a MoverClaim as JSON.
const AnnotationMoverClaim = "skerry.dev/mover-claim"

// MoverClaim is a claim that the templates of a StatefulSet make, for a Deployment that mounts it to copy it. When the
// Deployment is removed and the target is not to have the StatefulSet, the claim is deleted.
type MoverClaim struct {
	Name string `json:"name"`
	// Set is the name of the StatefulSet, Template that of its template.
	Set      string            `json:"set"`
	Template string            `json:"template"`
	Labels   map[string]string `json:"labels,omitempty"`
	Spec     json.RawMessage   `json:"spec,omitempty"`
	// Make: the claim is made where it is missing, before the Pods that mount it.
	Make bool `json:"make,omitempty"`
	// Of is how many claims the move has.
	Of int `json:"of"`
}

// ClaimTemplate is the template of a StatefulSet that makes claims of a name: TEMPLATE-SET-ORDINAL, as Kubernetes
// itself finds them again. It is false for any other name.
func ClaimTemplate(claim, set string) (template string, made bool) {
	i := strings.LastIndexByte(claim, '-')
	if i < 0 {
		return "", false
	}
	if _, err := strconv.ParseUint(claim[i+1:], 10, 31); err != nil {
		return "", false
	}
	return strings.CutSuffix(claim[:i], "-"+set)
}
