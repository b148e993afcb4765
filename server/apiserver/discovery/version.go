package discovery

import (
	"net/http"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/util/compatibility"

	"skerry.dev/skerry/server/apiserver/response"
)

// VersionPath is where an API server says which version it is.
const VersionPath = "/version"

// spaceVersion is the version of a space. The version of root ends with +skerry, by which a center is
// known, but charts make labels of what a cluster says, and tags of images, and neither may have a plus
// in it. So a space says the same in a field of its own.
type spaceVersion struct {
	version.Info
	Skerry bool `json:"skerry"`
}

var versionOfSpaces = sync.OnceValue(func() spaceVersion {
	v := spaceVersion{Info: *compatibility.DefaultBuildEffectiveVersion().Info(), Skerry: true}
	v.GitVersion, _, _ = strings.Cut(v.GitVersion, "+")
	return v
})

// ServeVersion answers which version a space is.
func ServeVersion(w http.ResponseWriter, r *http.Request) {
	response.WriteJSON(w, r, JSONType, versionOfSpaces())
}
