package agent

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
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

// A mode of the agent has the rights that it uses: a way into Pods that is open to no space is in no
// role, and one that is open to some is.
func TestManifestOfAMode(t *testing.T) {
	all := []string{"pods/attach", "pods/ephemeralcontainers", "pods/eviction", "pods/exec", "pods/log", "pods/portforward",
		"pods/status"}
	for line, closed := range map[string][]string{
		"":                   nil,
		"--allow-exec=false": {"pods/attach", "pods/exec", "pods/ephemeralcontainers"},
		"--allow-exec=false --allow-exec=shop=true":            nil,
		"--allow-exec=shop=false":                              nil,
		"--allow-logs=false --allow-port-forward=false":        {"pods/log", "pods/portforward"},
		"--allow-pod-writes=false --spaces-namespace=skerry-b": {"pods/eviction"},
	} {
		var out bytes.Buffer
		usage := func(format string, args ...any) error { return fmt.Errorf(format, args...) }
		app := &cli.App{Writer: &out, Commands: []*cli.Command{RBACCommand(usage, nil, nil)}}
		if err := app.Run(append([]string{"agent", "rbac"}, strings.Fields(line)...)); err != nil {
			t.Fatal(err)
		}
		var has []string
		for _, document := range strings.Split(out.String(), "\n---\n") {
			var role struct{ Rules []target.Rule }
			if err := yaml.Unmarshal([]byte(document), &role); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			for _, rule := range role.Rules {
				for _, resource := range rule.Resources {
					if strings.HasPrefix(resource, "pods/") {
						has = append(has, resource)
					}
				}
			}
		}
		slices.Sort(has)
		want := slices.DeleteFunc(slices.Clone(all), func(r string) bool { return slices.Contains(closed, r) })
		if !slices.Equal(has, want) {
			t.Errorf("%s: rights to %v, want %v", line, has, want)
		}
	}
}
