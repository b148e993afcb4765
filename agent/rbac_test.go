package agent

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/target"
)

// TestManifestHasTheRolesOfSpaces compares the shipped roles with what an agent makes where they
// are missing.
func TestManifestHasTheRolesOfSpaces(t *testing.T) {
	var workloads []target.Rule
	for _, group := range slices.Sorted(maps.Keys(policy.Workloads())) {
		workloads = append(workloads, target.Rule{APIGroups: []string{group}, Resources: policy.Workloads()[group]})
	}
	made := map[string][]target.Rule{
		target.SpaceRole: target.SpaceRules(workloads), target.ControllersRole: target.ControllerRules(workloads),
	}
	for _, document := range strings.Split(rbacManifest, "\n---\n") {
		var role struct {
			Kind     string
			Metadata struct{ Name string }
			Rules    []target.Rule
		}
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		rules, ours := made[role.Metadata.Name]
		if role.Kind != "ClusterRole" || !ours {
			continue
		}
		delete(made, role.Metadata.Name)
		if !reflect.DeepEqual(role.Rules, rules) {
			t.Errorf("shipped %v\nmade %v", role.Rules, rules)
		}
	}
	if len(made) > 0 {
		t.Errorf("the manifest lacks %v", made)
	}
}
