package v1alpha1

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// maxWithout and maxReviewName bound the fields of a question, as its definition says.
const (
	maxWithout    = 64
	maxReviewName = 253
)

// ReadPlacementReview reads a question, as JSON or YAML.
func ReadPlacementReview(body []byte) (*PlacementReview, error) {
	var review PlacementReview
	if err := yaml.UnmarshalStrict(body, &review); err != nil {
		return nil, fmt.Errorf("read the PlacementReview: %w", err)
	}
	q := &review.Spec
	names := append([]string{q.Placement}, q.Without...)
	if q.Object != nil {
		names = append(names, q.Object.APIGroup, q.Object.Resource, q.Object.Namespace, q.Object.Name)
	}
	for _, name := range names {
		if len(name) > maxReviewName || strings.ContainsAny(name, "/\x00") {
			return nil, fmt.Errorf("%.40q in spec is no name", name)
		}
	}
	switch {
	case review.Kind != "PlacementReview" || review.APIVersion != GroupVersion.String():
		return nil, fmt.Errorf("kind and apiVersion must be PlacementReview and %s", GroupVersion)
	case (q.Object != nil) == (q.Placement != ""):
		return nil, fmt.Errorf("spec: exactly one of object and placement is needed")
	case q.Object != nil && (q.Object.Resource == "" || q.Object.Name == ""):
		return nil, fmt.Errorf("spec.object: resource and name are needed; resource is a plural, such as deployments")
	case len(q.Without) > maxWithout:
		return nil, fmt.Errorf("spec.without: at most %d targets", maxWithout)
	}
	return &review, nil
}
