package agent

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel"
)

func TestPodRequestsAreThoseOfTheScheduler(t *testing.T) {
	for name, c := range map[string]struct{ spec, cpu, memory string }{
		"none": {`{"containers":[{}]}`, "", ""},
		"containers": {`{"containers":[{"resources":{"requests":{"cpu":"100m","memory":"64Mi"}}},
			{"resources":{"requests":{"cpu":"1"}}}]}`, "1100m", "64Mi"},
		"an init container that asks for more": {`{"initContainers":[{"resources":{"requests":{"cpu":"2"}}}],
			"containers":[{"resources":{"requests":{"cpu":"1","memory":"1Gi"}}}]}`, "2", "1Gi"},
		"a sidecar": {`{"initContainers":[{"restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}},
			{"resources":{"requests":{"cpu":"2"}}}],"containers":[{"resources":{"requests":{"cpu":"1"}}}]}`, "3", ""},
		"overhead": {`{"containers":[{"resources":{"requests":{"cpu":"1"}}}],"overhead":{"cpu":"250m"}}`, "1250m", ""},
		"the whole pod": {`{"containers":[{"resources":{"requests":{"cpu":"1"}}}],
			"resources":{"requests":{"cpu":"3"}}}`, "3", ""},
		"not a quantity": {`{"containers":[{"resources":{"requests":{"cpu":"x"}}}]}`, "", ""},
	} {
		var p target.Pod
		if err := json.Unmarshal([]byte(`{"metadata":{"uid":"u"},"spec":`+c.spec+`}`), &p); err != nil {
			t.Fatal(name, err)
		}
		got := podRequests(&p).texts()
		if got["cpu"] != c.cpu || got["memory"] != c.memory || got["pods"] != "1" || p.Metadata.UID != "u" {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestExtendedResourcesAreBounded(t *testing.T) {
	sum := amounts{}
	for i := range 40 {
		sum.add(map[string]string{fmt.Sprintf("example.com/r%02d", i): "1", "cpu": "100m", "memory": "1Mi", "pods": "1"})
	}
	got := sum.texts()
	if len(got) != maxExtended+3 || got["cpu"] != "4" || got["example.com/r15"] != "1" || got["example.com/r16"] != "" {
		t.Errorf("%d resources: %v", len(got), got)
	}
}

func TestAQuotaSaysWhatMayBeRequested(t *testing.T) {
	got := requested(map[string]string{"cpu": "1", "requests.cpu": "2", "requests.memory": "1Gi", "limits.cpu": "8",
		"pods": "10", "requests.storage": "5Gi", "requests.nvidia.com/gpu": "1", "count/deployments.apps": "3"})
	want := map[string]string{"cpu": "2", "memory": "1Gi", "pods": "10", "nvidia.com/gpu": "1"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("requests: %v", got)
	}
}

func TestSmallChangesWait(t *testing.T) {
	facts := func(nodes int, cpu string) *tunnel.ClusterFacts {
		return &tunnel.ClusterFacts{Nodes: nodes, Allocatable: map[string]string{"cpu": "10"},
			Allocated: map[string]string{"cpu": cpu}}
	}
	for name, c := range map[string]struct {
		before, now *tunnel.ClusterFacts
		since       time.Duration
		want        bool
	}{
		"the first":          {nil, facts(1, "1"), 0, true},
		"the same":           {facts(1, "1"), facts(1, "1"), time.Hour, false},
		"another node":       {facts(1, "1"), facts(2, "1"), 0, true},
		"little more":        {facts(1, "1"), facts(1, "1400m"), time.Minute, false},
		"little more, later": {facts(1, "1"), facts(1, "1400m"), allocatedAfter, true},
		"much more":          {facts(1, "1"), facts(1, "1600m"), time.Minute, true},
		"nothing any more":   {facts(1, "1"), facts(1, "0"), time.Minute, true},
		"a resource is gone": {facts(1, "6"),
			&tunnel.ClusterFacts{Nodes: 1, Allocatable: facts(1, "").Allocatable}, 0, true},
		"little less, at all": {facts(1, "1"), facts(1, "900m"), 0, false},
	} {
		if got := worthTelling(c.before, c.now, c.since); got != c.want {
			t.Errorf("%s: told is %t", name, got)
		}
	}
}
