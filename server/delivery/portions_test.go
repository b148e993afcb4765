package delivery

import (
	"encoding/json"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// reviews checks that a review of an autoscaler or a budget has what its body says of each target.
func (c *center) reviews(k store.Key, body string) {
	c.t.Helper()
	s, err := c.d.Review(c.t.Context(), k.Space, v1alpha1.PlacementReviewSpec{Object: &v1alpha1.ReviewedObject{
		APIGroup: k.Group, Resource: k.Resource, Namespace: k.Namespace, Name: k.Name}})
	if err != nil {
		c.t.Fatal(err)
	}
	said := map[string]any{}
	for _, t := range s.Targets {
		scale, scales := t.Portion["maxReplicas"]
		switch {
		case scales:
			said[t.Name] = []int64{t.Portion["minReplicas"], scale}
		case t.Portion != nil:
			said[t.Name] = t.Portion
		}
	}
	text, err := json.Marshal(said)
	if err != nil {
		c.t.Fatal(err)
	}
	if body == "" {
		body = "{}"
	}
	if string(text) != body {
		c.t.Errorf("a review of %s says %s, its body %s", k, text, body)
	}
}
