package agent

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/target"
)

// TestManifestHasTheRolesOfSpaces compares the shipped role with what an agent makes where it is missing.
func TestManifestHasTheRolesOfSpaces(t *testing.T) {
	for _, document := range strings.Split(rbacManifest, "\n---\n") {
		var role struct {
			Kind     string
			Metadata struct{ Name string }
			Rules    []target.Rule
		}
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		if role.Kind != "ClusterRole" || role.Metadata.Name != target.SpaceRole {
			continue
		}
		workloads := policy.Workloads()
		for _, rule := range role.Rules {
			group := rule.APIGroups[0]
			if !slices.Equal(rule.Resources, workloads[group]) {
				t.Errorf("group %q: shipped %v, made %v", group, rule.Resources, workloads[group])
			}
			delete(workloads, group)
		}
		if len(workloads) > 0 {
			t.Errorf("not shipped: %v", workloads)
		}
		return
	}
	t.Error("the manifest has no role of spaces")
}
