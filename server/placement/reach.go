package placement

import (
	"fmt"
	"strings"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// NoReach is the reason of a Service, or of ports of one, that answers only at the targets where it is.
const NoReach = "NoReach"

// Reach is a word on where the names of Services answer.
type Reach uint8

const (
	// ReachUnsaid leaves it to whoever speaks for more Services.
	ReachUnsaid Reach = iota
	// ReachSpace is wherever the space runs Pods.
	ReachSpace
	// ReachTarget is where the Service is.
	ReachTarget
)

// ReachWord reads a word of a Service, a Namespace or a Space. One that means nothing says nothing.
func ReachWord(text any) Reach {
	switch text {
	case string(v1alpha1.ReachSpace):
		return ReachSpace
	case string(v1alpha1.ReachTarget):
		return ReachTarget
	}
	return ReachUnsaid
}

// ReachOf is the word of an object on its own name. Only a Service that selects its Pods can answer
// elsewhere.
func ReachOf(k store.Key, obj map[string]any) Reach {
	if !k.IsService() || unreached(obj) != "" {
		return ReachTarget
	}
	return ReachWord(says(obj))
}

func says(obj map[string]any) any {
	return fields.Map(obj, "metadata", "annotations")[v1alpha1.AnnotationReach]
}

// unreached says why a Service cannot answer where none of its Pods are, empty for one that can.
func unreached(obj map[string]any) string {
	spec := fields.Map(obj, "spec")
	switch {
	case fields.String(spec, "type") == "ExternalName":
		return "its type is ExternalName, which is a name of somewhere else"
	case fields.String(spec, "clusterIP") == "None" && len(fields.List(spec, "ports")) == 0:
		return "it is headless (clusterIP: None) and names no ports, so nobody knows which of its Pods' are called"
	case len(fields.Map(spec, "selector")) == 0:
		return "it has no selector, so nobody knows what would answer"
	}
	return ""
}

// reachEffect says what of a Service that is to answer everywhere does not, and which words of a Service or a
// Namespace mean nothing.
func reachEffect(k store.Key, obj map[string]any) string {
	if !k.IsService() && k.Class() != store.ClassNamespace || says(obj) == nil {
		return ""
	}
	name := v1alpha1.AnnotationReach
	switch word := ReachWord(says(obj)); {
	case word == ReachUnsaid:
		return fmt.Sprintf("annotation %s: %.80q means nothing; write %s for Services that answer wherever their space "+
			"runs Pods, %s for those that answer where they are, or leave it out", name, fmt.Sprint(says(obj)),
			v1alpha1.ReachSpace, v1alpha1.ReachTarget)
	case word == ReachTarget || !k.IsService():
		return ""
	}
	if why := unreached(obj); why != "" {
		return fmt.Sprintf("annotation %s has no effect: %s", name, why)
	}
	var other []string
	for port := range fields.Maps(obj, "spec", "ports") {
		if protocol := fields.String(port, "protocol"); protocol != "" && protocol != "TCP" {
			other = append(other, fmt.Sprintf("%v/%s", port["port"], protocol))
		}
	}
	if len(other) > 0 {
		return fmt.Sprintf("annotation %s has no effect on ports %s, which answer only where Pods of the Service are: "+
			"between sites there is TCP", name, strings.Join(other, ", "))
	}
	return ""
}
