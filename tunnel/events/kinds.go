package events

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"skerry.dev/skerry/tunnel/exchange"
)

// Kind is a kind of objects about which Events are asked for.
type Kind struct{ Group, Version, Resource string }

// APIVersion is the group and version as an object has them.
func (k Kind) APIVersion() string {
	if k.Group == "" {
		return k.Version
	}
	return k.Group + "/" + k.Version
}

// kinds are those that targets have of a space, and that controllers and kubelets say something of.
var kinds = map[string]Kind{
	"Pod":                     {"", "v1", "pods"},
	"Service":                 {"", "v1", "services"},
	"PersistentVolumeClaim":   {"", "v1", "persistentvolumeclaims"},
	"ReplicationController":   {"", "v1", "replicationcontrollers"},
	"Deployment":              {"apps", "v1", "deployments"},
	"ReplicaSet":              {"apps", "v1", "replicasets"},
	"StatefulSet":             {"apps", "v1", "statefulsets"},
	"DaemonSet":               {"apps", "v1", "daemonsets"},
	"Job":                     {"batch", "v1", "jobs"},
	"CronJob":                 {"batch", "v1", "cronjobs"},
	"HorizontalPodAutoscaler": {"autoscaling", "v2", "horizontalpodautoscalers"},
	"Ingress":                 {"networking.k8s.io", "v1", "ingresses"},
	"PodDisruptionBudget":     {"policy", "v1", "poddisruptionbudgets"},
}

// KindOf returns the kind of a name such as "Deployment".
func KindOf(name string) (Kind, bool) {
	k, known := kinds[name]
	return k, known
}

// Kinds are the names of all kinds, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// Place is where an object of a space is.
type Place struct {
	// Kind and Name are the object's in the space.
	Kind, Name string
	// At is its place. At.Pod is its name there, of whatever kind it is.
	At exchange.Place
}

// Places are where an object of a space is, by annotations that the center alone writes: one place
// for a mirror, one for each target of what was itself placed. A mirrored Pod whose UID at its
// target is not known yet is nowhere.
func Places(kind, name, uid string, notes map[string]string) (out []Place) {
	add := func(p exchange.Place) { out = append(out, Place{kind, name, p}) }
	from := notes[exchange.ReportedFrom]
	switch {
	case from != "" && kind == "Pod":
		if p, err := exchange.PlaceOf(name, uid, notes); err == nil {
			add(p)
		}
	case from != "":
		add(exchange.Place{Target: from, Pod: cmp.Or(notes[exchange.ReportedAs], name)})
	default:
		for _, target := range strings.Split(notes[exchange.Targets], ",") {
			if target != "" {
				add(exchange.Place{Target: target, Pod: name, Origin: uid})
			}
		}
	}
	return out
}

// maxPrefix is how much of an object's name is in the name of an Event about it, in bytes.
const maxPrefix = 230

// Name is the name that an Event of a target has in a space: name is its name there, kind and
// object are what it is about in the space.
func Name(target, name, kind, object string) string {
	sum := sha256.Sum256([]byte(target + "\x00" + name + "\x00" + kind))
	return object[:min(len(object), maxPrefix)] + "." + hex.EncodeToString(sum[:8])
}
