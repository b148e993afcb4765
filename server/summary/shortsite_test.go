package summary

import (
	"testing"

	"skerry.dev/skerry/store"
)

// TestAShortTargetShows has one target at which a quota allows no Pod: what kubectl rollout status, Argo and
// kstatus compare with spec.replicas says so. TestVerdicts has the other ways to be short.
func TestAShortTargetShows(t *testing.T) {
	good := `{"observedGeneration":1,"replicas":2,"updatedReplicas":2,"readyReplicas":2,"availableReplicas":2,` +
		`"currentReplicas":2,"fullyLabeledReplicas":2}`
	for _, resource := range []string{"deployments", "replicasets", "statefulsets"} {
		for _, short := range []string{`{"observedGeneration":1,"unavailableReplicas":2}`, `{"observedGeneration":1}`, ""} {
			for division, wished := range map[Division]float64{Copies: 2, Shares: 4} {
				is := mergedAs(t, key("apps", resource, "web"), division, good, short)
				if n := num(is["availableReplicas"]); n >= wished {
					t.Errorf("%s: %q: %v of %v are available", resource, short, n, wished)
				}
				if n := num(is["updatedReplicas"]); n >= wished {
					t.Errorf("%s: %q: %v of %v are updated", resource, short, n, wished)
				}
			}
		}
	}
	whole := `{"observedGeneration":1,"desiredNumberScheduled":2,"updatedNumberScheduled":2,"numberAvailable":2,"numberReady":2}`
	is := merged(t, store.Key{Group: "apps", Resource: "daemonsets"}, whole,
		`{"observedGeneration":1,"desiredNumberScheduled":2,"numberUnavailable":2}`)
	if num(is["desiredNumberScheduled"]) != 4 || num(is["numberAvailable"]) != 2 || num(is["updatedNumberScheduled"]) != 2 {
		t.Errorf("a DaemonSet: %v", is)
	}
	if is := merged(t, store.Key{Group: "apps", Resource: "daemonsets"}, whole, ""); num(is["observedGeneration"]) != 0 {
		t.Errorf("a DaemonSet that one target has not reported: %v", is)
	}
	job := merged(t, key("batch", "jobs", "load"), `{"active":0,"succeeded":2}`, `{"active":0}`)
	if num(job["succeeded"]) != 0 {
		t.Errorf("a Job without Pods on one target: %v", job)
	}
}
