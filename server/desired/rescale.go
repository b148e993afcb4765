package desired

import (
	"encoding/json"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/rollout"
)

// scaledAs is how the body of a release scales an object.
func scaledAs(o rollout.Object) catalog.Scaled {
	s := catalog.Scaled{Replicas: o.Replicas}
	if !placement.HasReplicas(o.Key.Group, o.Key.Resource) {
		return s
	}
	var is struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if json.Unmarshal(o.Body, &is) == nil {
		s.Shares = is.Metadata.Annotations[v1alpha1.AnnotationShares]
	}
	return s
}
