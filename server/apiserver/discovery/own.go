package discovery

import (
	"strings"
)

// OwnGroup is the URL path of the group of the kinds of skerry.dev.
const OwnGroup = "/apis/skerry.dev"

// InEverySpace reports whether a resource of skerry.dev, or a subresource of one, exists outside
// root.
func InEverySpace(resource string) bool {
	resource, _, _ = strings.Cut(resource, "/")
	return resource == "placements"
}
