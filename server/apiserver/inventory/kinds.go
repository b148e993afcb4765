package inventory

import (
	"embed"
	"net/http"
	"strings"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// CRDs are the definitions of the kinds, as upstream publishes them.
//
//go:embed crds/*.yaml
var CRDs embed.FS

// The kinds.
const (
	Group     = v1alpha1.FleetGroup
	Version   = v1alpha1.FleetVersion
	Profiles  = v1alpha1.ClusterProfiles
	Decisions = v1alpha1.PlacementDecisions
	// Namespace is where both are in every space.
	Namespace = "default"
	// GroupPath and VersionPath are where they are served.
	GroupPath   = "/apis/" + Group
	VersionPath = GroupPath + "/" + Version
)

// Kind returns the Kind of a resource of this package, "" for others.
func Kind(resource string) string {
	switch resource, _, _ = strings.Cut(resource, "/"); resource {
	case Profiles:
		return "ClusterProfile"
	case Decisions:
		return "PlacementDecision"
	}
	return ""
}

// Verbs are what may be done with them.
func Verbs() []string { return []string{"get", "list", "watch"} }

// Defines reports whether a CustomResourceDefinition of this name defines one of them.
func Defines(name string) bool {
	resource, group, _ := strings.Cut(name, ".")
	return group == Group && Kind(resource) != ""
}

// Takes reports whether a path is one of objects of this package.
func Takes(r *http.Request) bool {
	rest, ours := strings.CutPrefix(r.URL.Path, VersionPath+"/")
	if !ours {
		return false
	}
	parts := strings.Split(rest, "/")
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	return Kind(parts[0]) != ""
}
