package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"skerry.dev/skerry/agent/target"
)

// manifestRole is what is read of a role of the manifest.
type manifestRole struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	Rules    []struct{ APIGroups, Resources, ResourceNames, Verbs []string }
}

// Rights returns what an agent needs at its cluster, as the manifest of `skerry agent rbac` gives
// it. An agent that does not impersonate also needs what its spaces may do.
func Rights(spacesNamespace string, impersonate bool) ([]target.Right, error) {
	var out []target.Right
	manifest := rbacFor(cmp.Or(spacesNamespace, target.DefaultSpaces))
	for _, text := range strings.Split(manifest, "\n---\n") {
		var role manifestRole
		if err := yaml.Unmarshal([]byte(text), &role); err != nil {
			return nil, fmt.Errorf("read the manifest of the agent's rights: %w", err)
		}
		own := role.Metadata.Name == "skerry-agent"
		if own || !impersonate && role.Metadata.Name == "skerry-space" {
			out = append(out, role.rights(own)...)
		}
	}
	return out, nil
}

// perSpace are verbs that tell enough of what a space may do.
var perSpace = []string{"create", "patch", "delete"}

func (r manifestRole) rights(own bool) (out []target.Right) {
	for _, rule := range r.Rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, name := range names {
					for _, verb := range rule.Verbs {
						if own || slices.Contains(perSpace, verb) {
							out = append(out, target.Right{Verb: verb, Group: group, Resource: resource,
								Namespace: r.Metadata.Namespace, Name: name})
						}
					}
				}
			}
		}
	}
	return out
}
