package placement

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

func TestRequestsOfWorkloads(t *testing.T) {
	const mi = 1 << 20
	for text, want := range map[string]struct {
		kind string
		Requests
	}{
		`{spec: {replicas: 3, template: {spec: {containers: [{resources: {requests: {cpu: 100m,
			memory: 64Mi}}}]}}}}`: {"apps/deployments", Requests{300, 192 * mi, 3}},
		`{spec: {template: {spec: {containers: [{}, {resources: {limits: {cpu: 2,
			memory: 1Mi}}}]}}}}`: {"apps/statefulsets", Requests{2000, mi, 1}},
		`{spec: {replicas: 0,
			template: {spec: {containers: [{resources: {requests: {cpu: 1}}}]}}}}`: {"apps/deployments", Requests{}},
		`{spec: {parallelism: 4, completions: 2,
			template: {spec: {containers: [{resources: {requests: {cpu: 1}}}]}}}}`: {"batch/jobs",
			Requests{2000, 0, 2}},
		`{spec: {suspend: true,
			template: {spec: {containers: [{resources: {requests: {cpu: 1}}}]}}}}`: {"batch/jobs", Requests{}},
		`{spec: {jobTemplate: {spec: {
			template: {spec: {containers: [{resources: {requests: {cpu: 1}}}]}}}}}}`: {"batch/cronjobs",
			Requests{1000, 0, 1}},
		`{spec: {initContainers: [{resources: {requests: {cpu: 3}}}, {restartPolicy: Always,
			resources: {requests: {cpu: 500m}}}],
			containers: [{resources: {requests: {cpu: 1}}}], overhead: {cpu: 100m}}}`: {"/pods", Requests{3100, 0, 1}},
		`{spec: {resources: {requests: {cpu: 5}}, containers: [{resources: {requests: {cpu: 1,
			memory: 1Mi}}}]}}`: {"/pods", Requests{5000, mi, 1}},
		`{spec: {replicas: 9000000000000,
			template: {spec: {containers: [{resources: {requests: {cpu: 9E}}}]}}}}`: {"apps/replicasets",
			Requests{most, 0, 9000000000000}},
		`{spec: {initContainers: [{restartPolicy: Always, resources: {requests: {cpu: 500m}}},
			{resources: {requests: {cpu: 3}}}],
			containers: [{resources: {requests: {cpu: 1}}}]}}`: {"/pods", Requests{3500, 0, 1}},
		`{data: {a: b}}`: {"/configmaps", Requests{}},
	} {
		var obj map[string]any
		if err := yaml.Unmarshal([]byte(text), &obj); err != nil {
			t.Fatal(err)
		}
		var k store.Key
		k.Group, k.Resource, _ = cut(want.kind)
		if got := RequestsOf(k, obj); got != want.Requests {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func cut(kind string) (group, resource string, found bool) {
	for i := range kind {
		if kind[i] == '/' {
			return kind[:i], kind[i+1:], true
		}
	}
	return "", kind, false
}

func bounded(cpu string, used int64) func(*Target) {
	q := resource.MustParse(cpu)
	return func(t *Target) {
		t.Room = Room{Bounds: &v1alpha1.Bounds{CPU: &q}, Requested: Requests{CPU: used}}
	}
}

func TestBoundsKeepAwayWhatDoesNotFit(t *testing.T) {
	type changes = map[string]func(*Target)
	one := Wish{Selectors: []labels.Selector{labels.Everything()}, Count: 1}
	all := Wish{Selectors: []labels.Selector{labels.Everything()}}
	load := Terms{Load: Load{Requests: Requests{CPU: 500}}}
	overflow := Terms{Load: load.Load, Overflows: []string{"a"}}
	for name, c := range map[string]struct {
		wish    Wish
		world   World
		current []string
		terms   Terms
		want    []string
		reason  string
		stays   string
	}{
		"room":    {one, vacateWorld(changes{"a": bounded("1", 500)}, "a", "b"), nil, load, []string{"a"}, "", ""},
		"no room": {one, vacateWorld(changes{"a": bounded("1", 501)}, "a", "b"), nil, load, []string{"b"}, "", ""},
		"no room anywhere": {one, vacateWorld(changes{"a": bounded("1", 900), "b": bounded("100m", 0)}, "a", "b"),
			nil, load, nil, OverBounds, ""},
		"it is there": {one, vacateWorld(changes{"a": bounded("1", 900)}, "a", "b"), []string{"a"}, load,
			[]string{"a"}, "", ""},
		"of all, the rest": {all, vacateWorld(changes{"a": bounded("1", 900)}, "a", "b"), nil, load, []string{"b"}, "", ""},
		"overflow": {one, vacateWorld(changes{"a": bounded("1", 1100)}, "a", "b"), []string{"a"}, overflow,
			[]string{"b"}, "", ""},
		"overflow, no other": {one, vacateWorld(changes{"a": bounded("1", 1100), "b": bounded("1", 600)}, "a", "b"),
			[]string{"a"}, overflow,
			[]string{"a"}, string(CannotLeave), "a:OverBounds"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Vacate(c.wish, c.world, c.current, c.terms, noon)
			if strings.Contains(name, "there") != (len(c.current) > 0 && len(got.Full) == 0 && c.stays == "" &&
				c.terms.Overflows == nil) {
				t.Errorf("full: %v", got.Full)
			}
			if Join(got.Targets) != Join(c.want) || got.Reason != c.reason || stays(got) != c.stays {
				t.Errorf("chosen %v, %s: %s; stays %q", got.Targets, got.Reason, got.Message, stays(got))
			}
		})
	}
}
