package upsync

import (
	"fmt"
	"strings"

	"skerry.dev/skerry/store"
)

// refusesKind says why objects of a kind never come, empty for kinds that may. ConfigMaps, Secrets
// and custom resources are data in a space. What else Kubernetes has acts in a space, comes back
// beside what is placed, or is a cluster's own.
func refusesKind(group, resource string) string {
	switch {
	case resource == "" || resource == "*" || strings.Contains(resource, "/"):
		return fmt.Sprintf("%q is no resource: write a lower-case plural, such as secrets", resource)
	case group == "" && (resource == "secrets" || resource == "configmaps"):
		return ""
	case group == "skerry.dev" || strings.HasSuffix(group, ".skerry.dev"):
		return "what skerry.dev serves says where things are, and never comes from a target"
	case strings.Contains(group, ".") && (!strings.HasSuffix(group, ".k8s.io") || extensions[group]):
		return ""
	}
	return fmt.Sprintf("%s cannot be brought: only configmaps, secrets and custom resources can; "+
		"Pods, ReplicaSets, Jobs, claims and Events of placed objects come by themselves", named(group, resource))
}

// extensions are groups of Kubernetes' own domain whose kinds are custom resources.
var extensions = map[string]bool{
	"gateway.networking.k8s.io": true,
	"snapshot.storage.k8s.io":   true,
}

func named(group, resource string) string {
	if group == "" {
		return resource
	}
	return resource + "." + group
}

// reserved reports whether a namespace of a space, or of a cluster, is its machinery's.
func reserved(namespace string) bool {
	return strings.HasPrefix(namespace, "kube-") || strings.HasPrefix(namespace, "skerry-")
}

// Refuses says why an object never comes, whatever selects it; empty for one that may. The type is
// that of a Secret.
func Refuses(k store.Key, kind string) string {
	switch {
	case reserved(k.Namespace):
		return "what is in namespaces named kube-* and skerry-* never comes"
	case k.Namespace == "":
		return "it has no namespace, and what is not in a namespace of the space is not the space's"
	case refusesKind(k.Group, k.Resource) != "":
		return refusesKind(k.Group, k.Resource)
	case k.Group == "" && k.Resource == "configmaps" && k.Name == "kube-root-ca.crt":
		return "every namespace has its own kube-root-ca.crt"
	case k.Group != "" || k.Resource != "secrets":
		return ""
	case kind == "kubernetes.io/service-account-token", strings.HasPrefix(kind, "bootstrap.kubernetes.io/"):
		return "a Secret of type " + kind + " is a credential of the target's own API"
	case strings.HasPrefix(kind, "skerry.dev/"), kind == "helm.sh/release.v1":
		return "a Secret of type " + kind + " is about where it is, and means nothing elsewhere"
	}
	return ""
}
