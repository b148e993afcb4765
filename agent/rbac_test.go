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

// TestManifestHasTheRolesOfSpaces compares the shipped role with what an agent makes where it is
// missing.
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
		var workloads []target.Rule
		for _, group := range slices.Sorted(maps.Keys(policy.Workloads())) {
			workloads = append(workloads, target.Rule{APIGroups: []string{group}, Resources: policy.Workloads()[group]})
		}
		if made := target.SpaceRules(workloads); !reflect.DeepEqual(role.Rules, made) {
			t.Errorf("shipped %v\nmade %v", role.Rules, made)
		}
		return
	}
	t.Error("the manifest has no role of spaces")
}
