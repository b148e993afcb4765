package placement

import (
	"encoding/json"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	psapi "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// SecurityNeed is the strictest Pod Security level that lets the Pods of a workload in. The zero value
// is that of an object without Pods.
type SecurityNeed uint8

// The levels, the strictest first.
const (
	NeedsNothing SecurityNeed = iota
	NeedsRestricted
	NeedsBaseline
	NeedsPrivileged
)

// securityChecks are upstream's, which agents and the warnings of the center use, too. They are made when
// the first Pods are looked at.
var securityChecks = sync.OnceValues(func() (policy.Evaluator, error) {
	return policy.NewEvaluator(policy.DefaultChecks(), nil)
})

// SecurityNeedOf returns what the Pods of a workload need. It decodes only Pods that set something that a
// level looks at; the others are those of most workloads, and keep to baseline.
func SecurityNeedOf(k store.Key, obj map[string]any) SecurityNeed {
	spec := podSpec(k, fields.Map(obj, "spec"))
	if spec == nil {
		return NeedsNothing
	}
	meta := podMeta(k, obj)
	if plainPod(meta, spec) {
		return NeedsBaseline
	}
	checks, err := securityChecks()
	var pod struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     corev1.PodSpec    `json:"spec"`
	}
	text, failed := json.Marshal(map[string]any{"metadata": map[string]any{
		"annotations": meta["annotations"], "labels": meta["labels"]}, "spec": spec})
	if err != nil || failed != nil || json.Unmarshal(text, &pod) != nil {
		return NeedsBaseline // validation has taken it, so that this does not happen
	}
	for _, level := range []struct {
		need SecurityNeed
		is   psapi.Level
	}{{NeedsRestricted, psapi.LevelRestricted}, {NeedsBaseline, psapi.LevelBaseline}} {
		results := checks.EvaluatePod(psapi.LevelVersion{Level: level.is, Version: psapi.LatestVersion()},
			&pod.Metadata, &pod.Spec)
		if policy.AggregateCheckResults(results).Allowed {
			return level.need
		}
	}
	return NeedsPrivileged
}

// plainPod reports whether Pods set nothing that the levels look at: no securityContext, nothing of the
// host, no annotation. Such Pods keep to baseline, and not to restricted, which demands some settings.
func plainPod(meta, spec map[string]any) bool {
	if len(fields.Map(meta, "annotations")) > 0 || spec["securityContext"] != nil {
		return false
	}
	for _, field := range []string{"hostNetwork", "hostPID", "hostIPC", "os"} {
		if spec[field] != nil {
			return false
		}
	}
	for _, volume := range fields.List(spec, "volumes") {
		if v, _ := volume.(map[string]any); v["hostPath"] != nil {
			return false
		}
	}
	for _, list := range []string{"initContainers", "containers", "ephemeralContainers"} {
		for _, container := range fields.List(spec, list) {
			c, _ := container.(map[string]any)
			if c["securityContext"] != nil || c["lifecycle"] != nil {
				return false
			}
			for _, probe := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
				if fields.Map(c, probe, "httpGet")["host"] != nil || fields.Map(c, probe, "tcpSocket")["host"] != nil {
					return false
				}
			}
			for _, port := range fields.List(c, "ports") {
				if p, _ := port.(map[string]any); p["hostPort"] != nil {
					return false
				}
			}
		}
	}
	return true
}

// SecurityNeeds counts workloads by what their Pods need.
type SecurityNeeds [NeedsPrivileged + 1]int

// Refused is how many of the workloads have Pods that a site refuses that keeps to a level. A site that
// has not told its level, or tells one that is not known here, counts as one that refuses none.
func (n SecurityNeeds) Refused(level string) (workloads int) {
	allows := NeedsPrivileged
	switch psapi.Level(level) {
	case psapi.LevelRestricted:
		allows = NeedsRestricted
	case psapi.LevelBaseline:
		allows = NeedsBaseline
	}
	for need := allows + 1; need <= NeedsPrivileged; need++ {
		workloads += n[need]
	}
	return workloads
}

// Refusal is what of the Pods that are decided about a target will refuse.
type Refusal struct {
	// Level is the Pod Security level to which the target keeps the Pods of the space.
	Level string
	// Workloads is how many have Pods that do not keep to it.
	Workloads int
}

// text says so to people, empty where nothing is refused.
func (r Refusal) text() string {
	switch r.Workloads {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("its Pod Security level %s refuses the Pods of 1 workload", r.Level)
	}
	return fmt.Sprintf("its Pod Security level %s refuses the Pods of %d workloads", r.Level, r.Workloads)
}
