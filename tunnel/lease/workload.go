package lease

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"skerry.dev/skerry/store"
)

// AnnotationRunsOnce stands on a delivered workload, as "true", that must not run twice because its
// Placement says BreakBeforeMake.
const AnnotationRunsOnce = "skerry.dev/runs-once"

// annotationReplicas, as "Duplicated", is a user's word that a StatefulSet may run on several
// targets.
const annotationReplicas = "skerry.dev/replicas"

// Workload is what there is to know of an object that runs pods.
type Workload struct {
	// Once: it must not run twice. Claims are the names of the claims that it must not run twice
	// for, unless all of them may be mounted on many nodes, see Shared.
	Once   bool
	Claims []string
	// StopTime is how long it may take until all its pods are gone.
	StopTime time.Duration
}

// stops says how each kind that runs pods is stopped: the field below spec, and its value.
var stops = map[string]stop{
	"apps/statefulsets":       {"replicas", json.RawMessage("0")},
	"apps/deployments":        {"replicas", json.RawMessage("0")},
	"apps/replicasets":        {"replicas", json.RawMessage("0")},
	"/replicationcontrollers": {"replicas", json.RawMessage("0")},
	"batch/jobs":              {"suspend", json.RawMessage("true")},
	"batch/cronjobs":          {"suspend", json.RawMessage("true")},
	"/pods":                   {},
}

type stop struct {
	field string
	value json.RawMessage
}

// MayRunOnce reports whether objects of a kind can be workloads that must not run twice.
func MayRunOnce(group, resource string) bool {
	_, ok := stops[group+"/"+resource]
	return ok
}

// Read reads an object of a kind for which MayRunOnce is true. It returns false for other kinds.
func Read(k store.Key, obj map[string]any) (w Workload, ok bool) {
	if !MayRunOnce(k.Group, k.Resource) {
		return Workload{}, false
	}
	spec := child(obj, "spec")
	pod := child(child(spec, "template"), "spec")
	switch k.Resource {
	case "pods":
		pod = spec
	case "cronjobs":
		pod = child(child(child(child(spec, "jobTemplate"), "spec"), "template"), "spec")
	}
	w.StopTime = grace(pod)
	annotations := child(child(obj, "metadata"), "annotations")
	switch {
	case annotations[AnnotationRunsOnce] == "true":
		w.Once = true
	case k.Resource == "statefulsets":
		w.Once = annotations[annotationReplicas] != "Duplicated"
	case k.Group == "batch":
		w.Once = true
	case k.Resource == "deployments":
		w.Once = child(spec, "strategy")["type"] == "Recreate" // its user wants no two of its Pods
	}
	volumes, _ := pod["volumes"].([]any)
	for _, v := range volumes {
		v, _ := v.(map[string]any)
		claim := child(v, "persistentVolumeClaim")
		if name, _ := claim["claimName"].(string); name != "" && claim["readOnly"] != true {
			w.Claims = append(w.Claims, name)
		}
	}
	if k.Resource == "statefulsets" && spec["podManagementPolicy"] != "Parallel" {
		if n, ok := number(spec["replicas"]); ok { // one after the other
			w.StopTime *= time.Duration(min(max(n, 1), maxOrdered))
		}
	}
	return w, true
}

func child(of map[string]any, field string) map[string]any {
	m, _ := of[field].(map[string]any)
	return m
}

func number(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case float64:
		return int64(n), true
	}
	return 0, false
}

// maxOrdered bounds how many pods of a StatefulSet are counted.
const maxOrdered = 1 << 10

// defaultGrace is what a pod has that says nothing. maxGrace is the most that is counted: a day.
const (
	defaultGrace = 30 * time.Second
	maxGrace     = 24 * time.Hour
)

func grace(pod map[string]any) time.Duration {
	seconds, ok := number(pod["terminationGracePeriodSeconds"])
	if !ok {
		return defaultGrace
	}
	return time.Duration(min(max(seconds, 0), int64(maxGrace/time.Second))) * time.Second
}

// Shared reports whether a PersistentVolumeClaim may be mounted on many nodes, so that several
// copies of a workload may use it.
func Shared(claim map[string]any) bool {
	modes, _ := child(claim, "spec")["accessModes"].([]any)
	for _, mode := range modes {
		if mode == "ReadWriteMany" || mode == "ReadOnlyMany" {
			return true
		}
	}
	return false
}

// ErrNotHere is returned by Stopped for what stops only by being deleted.
var ErrNotHere = errors.New("it is stopped by being deleted")

// Stopped returns the workload as it is while it must not run. ErrNotHere says that there is no such
// form: a Pod.
func Stopped(k store.Key, body []byte) ([]byte, error) {
	how, ok := stops[k.Group+"/"+k.Resource]
	if !ok || how.field == "" {
		return nil, ErrNotHere
	}
	o := map[string]json.RawMessage{}
	if err := json.Unmarshal(body, &o); err != nil {
		return nil, fmt.Errorf("stop workload: %w", err)
	}
	spec := map[string]json.RawMessage{}
	if raw, ok := o["spec"]; ok {
		if err := json.Unmarshal(raw, &spec); err != nil {
			return nil, fmt.Errorf("stop workload: %w", err)
		}
	}
	spec[how.field] = how.value
	raw, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("stop workload: %w", err)
	}
	o["spec"] = raw
	return json.Marshal(o)
}
