package placement

import (
	"fmt"
	"strings"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// The reasons of what is accepted and does nothing.
const (
	// NeverPlaced objects are stored in their space and act nowhere.
	NeverPlaced = "NeverPlaced"
	// OnlyAtSites objects do not act in their space.
	OnlyAtSites = "OnlyAtSites"
	// OnlyInSpace objects act in their space, where their user may well mean the sites.
	OnlyInSpace = "OnlyInSpace"
)

// APIServiceUnserved says why an APIService of a space serves nothing.
const APIServiceUnserved = "a space serves no APIs of Services: this is stored, its group is not in the space's " +
	"discovery, and nothing calls its Service. No site takes it from a space: it would answer for all who use the " +
	"site's API, and while it is away no namespace there could go; define the kinds by CustomResourceDefinitions, " +
	"or apply this at the site with the rights of its admin"

// stored says, by kind, what is stored in a space and acts nowhere, and what does instead.
var stored = map[string]string{
	"apiregistration.k8s.io/apiservices": APIServiceUnserved,
	"flowcontrol.apiserver.k8s.io/flowschemas": "a space shares out no requests by this: it is stored; " +
		"the center's admin limits a space by spec.quota of its Space",
	"flowcontrol.apiserver.k8s.io/prioritylevelconfigurations": "a space shares out no requests by this: it is stored; " +
		"the center's admin limits a space by spec.quota of its Space",
	"certificates.k8s.io/certificatesigningrequests": "nothing in a space signs certificates " +
		"unless a controller of yours does: this is stored; " +
		"for access to the space use ServiceAccounts or skerry space kubeconfig",
}

// NoEffect tells people that an object is accepted and does not do what its like does in a cluster,
// and what to do instead. Both texts are empty for all other objects.
func NoEffect(k store.Key, obj map[string]any) (reason, message string) {
	notes := fields.Map(obj, "metadata", "annotations")
	if notes[v1alpha1.AnnotationReportedFrom] != nil || notes[v1alpha1.AnnotationOrigin] != nil {
		return "", "" // a site made it, or a parent sent it on its way to sites
	}
	wrong := wrongKind(k, obj)
	if message := misplaced(k, obj); message != "" {
		wrong = append([]string{message}, wrong...)
	}
	if len(wrong) > 0 {
		return Misplaced, strings.TrimSuffix(strings.Join(wrong, "; ")+"; "+reachEffect(k, obj), "; ")
	}
	if message := stored[k.Group+"/"+k.Resource]; message != "" {
		return NeverPlaced, message
	}
	if message := inertEffect(k, obj); message != "" {
		return OnlyAtSites, message
	}
	if message := webhooksOfBorn(k, obj); message != "" {
		return OnlyInSpace, message
	}
	if message := reachEffect(k, obj); message != "" {
		return NoReach, message
	}
	namespace := k.Namespace
	if k.Class() == store.ClassNamespace {
		namespace = k.Name
	}
	switch {
	case k.Space == v1alpha1.RootSpace && RunsPods(k):
		return NeverPlaced, "the root space places nothing: this is stored and runs nowhere; " +
			"apply it in a space of its own (skerry space create NAME)"
	case k.Space == v1alpha1.RootSpace:
		return "", ""
	case k.Resource == "secrets" && k.Group == "" && obj["type"] == "kubernetes.io/service-account-token":
		return OnlyInSpace, "a token of this space's API is not sent to sites: " +
			"pods use the token that their site gives them"
	case k.Group == "" && k.Resource == "resourcequotas" && limitsPods(obj):
		return OnlyInSpace, fmt.Sprintf("the Pods of workloads are born at sites, which do not ask this quota: it counts "+
			"them, and refuses only what is made in the space; one more ResourceQuota with the label %s: \"true\" limits "+
			"its namespace at each site whose admin allows resourcequotas (allow.kinds of the agent)", v1alpha1.LabelInert)
	case ownNamespace(namespace) && acts(k):
		return NeverPlaced, fmt.Sprintf("namespace %s is never placed: what is in it is stored "+
			"in the space and runs nowhere; use a namespace of another name", namespace)
	}
	return "", ""
}

// limitsPods reports whether a ResourceQuota limits how many Pods run, or what they use.
func limitsPods(quota map[string]any) bool {
	for name := range fields.Map(quota, "spec", "hard") {
		switch {
		case name == "pods", name == "count/pods", name == "cpu", name == "memory", name == "ephemeral-storage",
			strings.HasPrefix(name, "requests.") && name != "requests.storage", strings.HasPrefix(name, "limits."):
			return true
		}
	}
	return false
}

// NoEffectOfContent reports whether NoEffect looks at more of objects like this than their labels and annotations.
func NoEffectOfContent(k store.Key) bool {
	return k.Group == "" && k.Resource == "secrets" || k.IsService() || mayBeInert(k.Group, k.Resource)
}

// acts reports whether a kind does anything by itself at a target. ConfigMaps and Secrets are often
// only notes of a tool that works in the space.
func acts(k store.Key) bool {
	if k.Group == "" && (k.Resource == "configmaps" || k.Resource == "secrets") {
		return false
	}
	c := ClassOf(k.Group, k.Resource)
	return c == Placed
}

// OwnsPods reports whether objects of a kind own the Pods that they run, or what owns those.
func OwnsPods(k store.Key) bool { return RunsPods(k) && len(podPaths[k.Group+"/"+k.Resource]) > 0 }

// RunsPods reports whether objects of a kind run Pods.
func RunsPods(k store.Key) bool {
	_, runs := podPaths[k.Group+"/"+k.Resource]
	return runs
}
