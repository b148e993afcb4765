package target

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Right is one thing that RBAC may allow.
type Right struct {
	Verb string `json:"verb"`
	// Group and Resource; "*" for all, RESOURCE/SUBRESOURCE for a subresource.
	Group    string `json:"group"`
	Resource string `json:"resource"`
	// Namespace and Name are empty for all.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// String names it as in "patch namespaces", "bind clusterroles.rbac.authorization.k8s.io/NAME".
func (r Right) String() string {
	text := r.Verb + " " + r.Resource
	if r.Group != "" {
		text += "." + r.Group
	}
	if r.Name != "" {
		text += "/" + r.Name
	}
	if r.Namespace != "" {
		text += " in " + r.Namespace
	}
	return text
}

// May asks the target whether this client has a right.
func (c *Client) May(ctx context.Context, r Right) (bool, error) {
	resource, subresource, _ := strings.Cut(r.Resource, "/")
	attributes := map[string]string{"verb": r.Verb, "group": r.Group, "resource": resource,
		"subresource": subresource, "namespace": r.Namespace, "name": r.Name}
	body, err := json.Marshal(map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": attributes},
	})
	if err != nil {
		return false, err
	}
	var answer struct{ Status struct{ Allowed bool } }
	path := "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	if _, err := c.exchange(ctx, http.MethodPost, path, nil, jsonType, body, &answer); err != nil {
		return false, fmt.Errorf("ask for a right: %w", err)
	}
	return answer.Status.Allowed, nil
}
