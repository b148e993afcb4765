package authn

import (
	"fmt"
	"net/http"
	"strings"

	"k8s.io/kubernetes/pkg/serviceaccount"

	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/response"
)

// IsIssuerPath reports whether a path is one at which a verifier of ServiceAccount tokens finds
// their issuer and its keys.
func IsIssuerPath(path string) bool {
	return path == serviceaccount.OpenIDConfigPath || path == serviceaccount.JWKSPath
}

// ServeHTTP answers for the issuer of the request's space: OIDC discovery, and its keys. Who may
// ask is a right of the space (system:service-account-issuer-discovery), which its ServiceAccounts
// have.
func (t *Tokens) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	space := request.Space(r.Context())
	if space == "" || space == request.AllSpaces || r.Method != http.MethodGet && r.Method != http.MethodHead {
		response.Write(w, response.NotFound())
		return
	}
	issuer := t.issuer(space)
	metadata, err := serviceaccount.NewOpenIDMetadataProvider(issuer, issuer+serviceaccount.JWKSPath, "", t.keys)
	if err != nil {
		response.Write(w, response.NotFound()) // an address of the center that is no https
		return
	}
	body, age := metadata.GetConfigJSON()
	kind := "application/json"
	if strings.TrimSuffix(r.URL.Path, "/") == serviceaccount.JWKSPath {
		body, age = metadata.GetKeysetJSON()
		kind = "application/jwk-set+json"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", fmt.Sprintf("public, max-age=%d", age))
	w.Write(body)
}
