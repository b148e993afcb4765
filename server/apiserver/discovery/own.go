package discovery

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/apiserver/request"
)

// OwnGroup is the URL path of the group of the kinds of skerry.dev.
const OwnGroup = "/apis/skerry.dev"

// Reviews and ServiceReviews are resources of skerry.dev that can be created only.
const (
	Reviews        = "placementreviews"
	ServiceReviews = "servicereviews"
)

// IsReview reports whether a resource of skerry.dev can be created only.
func IsReview(resource string) bool { return resource == Reviews || resource == ServiceReviews }

// Bindings is a resource of skerry.dev that can be read only.
const Bindings = "bindings"

// InEverySpace reports whether a resource of skerry.dev, or a subresource of one, exists outside
// root.
func InEverySpace(resource string) bool {
	resource, _, _ = strings.Cut(resource, "/")
	switch resource {
	case "placements", "customizers", "statuscollectors", "combinedstatuses", "upsyncs", Bindings, Reviews, ServiceReviews:
		return true
	}
	return false
}

// verbs returns those that a resource of skerry.dev has in a space, nil where it does not exist.
func verbs(resource, space string, defined []string) []string {
	inRoot := space == request.RootSpace || space == request.AllSpaces
	switch {
	case IsReview(resource) && inRoot:
		return nil
	case IsReview(resource):
		return []string{"create"}
	case resource == Bindings:
		return []string{"get", "list", "watch"}
	case inRoot || InEverySpace(resource):
		return defined
	}
	return nil
}

// OwnResources are the resources of skerry.dev that exist in a space.
func OwnResources(all []metav1.APIResource, space string) []metav1.APIResource {
	kept := make([]metav1.APIResource, 0, len(all))
	for _, r := range all {
		if r.Verbs = verbs(r.Name, space, r.Verbs); r.Verbs != nil {
			kept = append(kept, r)
		}
	}
	return kept
}
