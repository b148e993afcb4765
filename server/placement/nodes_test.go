package placement

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
)

func amounts(of ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(of); i += 2 {
		out[corev1.ResourceName(of[i])] = resource.MustParse(of[i+1])
	}
	return out
}

// What nodes have is what is allocatable less what others request. Numbers that cannot be are not believed.
func TestNodesOf(t *testing.T) {
	for name, c := range map[string]struct {
		allocatable, allocated, placed corev1.ResourceList
		want                           Nodes
	}{
		"nothing is said":            {nil, nil, nil, Nodes{}},
		"nothing is said of use":     {amounts("cpu", "4"), nil, nil, Nodes{}},
		"others use some":            {amounts("cpu", "4", "memory", "8Gi"), amounts("cpu", "3", "memory", "1Gi"), amounts("cpu", "1"), Nodes{"cpu": 2000, "memory": 7 << 30}},
		"others use more than there": {amounts("cpu", "1"), amounts("cpu", "3"), nil, Nodes{"cpu": -2000}},
		"pods":                       {amounts("pods", "110"), amounts("pods", "12"), amounts("pods", "10"), Nodes{"pods": 108}},
		"more placed than in use":    {amounts("cpu", "4", "pods", "10"), amounts("cpu", "1", "pods", "2"), amounts("cpu", "3"), Nodes{"pods": 8}},
		"less than nothing":          {amounts("cpu", "-4"), amounts("cpu", "1"), nil, Nodes{}},
		"less than nothing placed":   {amounts("cpu", "4"), amounts("cpu", "1"), amounts("cpu", "-1"), Nodes{}},
		"beyond all numbers":         {amounts("memory", "9Ei"), amounts("memory", "1Gi"), nil, Nodes{"memory": most - 1<<30}},
	} {
		got := *NodesOf(c.allocatable, c.allocated, c.placed)
		if len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		for r, n := range c.want {
			if got[r] != n {
				t.Errorf("%s: %s %d, want %d", name, r, got[r], n)
			}
		}
	}
}

// Room on nodes is asked of what comes, and of nothing that is there. Where nothing is known nothing is kept away.
func TestANodeHasRoomOrNot(t *testing.T) {
	full := Target{Name: "full", Connected: true, Labels: labels.Set{}}
	full.Nodes, full.Requested = &Nodes{"cpu": 1000}, Requests{CPU: 700}
	elastic := Target{Name: "other", Connected: true, Labels: labels.Set{}}
	elastic.Requested = Requests{CPU: 1 << 40}
	all := Wish{Selectors: []labels.Selector{labels.Everything()}, Count: 1}
	load := Terms{Load: Load{Requests: Requests{CPU: 500, Memory: 1 << 30}, Objects: 1}}
	choose := func(current []string, targets ...Target) Vacated {
		return Vacate(all, World{Targets: targets}, current, load, time.Now())
	}
	if v := choose(nil, full, elastic); !Same(v.Targets, []string{"other"}) {
		t.Errorf("chosen: %v", v.Targets)
	}
	if v := choose([]string{"full"}, full, elastic); !Same(v.Targets, []string{"full"}) || len(v.Stays) > 0 {
		t.Errorf("what is there leaves: %+v", v)
	}
	v := choose(nil, full)
	const want = "no room on the nodes of full (InsufficientCPU: 300m free, needs 500m): add nodes, remove something, or ask for less"
	if len(v.Targets) > 0 || v.Reason != "InsufficientCPU" || v.Message != want {
		t.Errorf("%v %s: %s", v.Targets, v.Reason, v.Message)
	}
	_, verdicts := Explain(all, World{Targets: []Target{full}}.Closing(all, nil, load.Load), nil)
	if len(verdicts) != 1 || !strings.Contains(verdicts[0].Message, "InsufficientCPU: its nodes have 300m free, needs 500m") {
		t.Errorf("explained: %+v", verdicts)
	}
	load.Load.Requests = Requests{Memory: 1 << 40}
	if v := choose(nil, full); !Same(v.Targets, []string{"full"}) {
		t.Errorf("memory is not known, and it is kept away: %+v", v)
	}
}
