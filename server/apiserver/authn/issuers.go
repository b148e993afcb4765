package authn

import (
	"fmt"
	"net/http"
	"strings"

	"k8s.io/kubernetes/pkg/serviceaccount"

	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/response"
)

// IsIssuerPath reports whether a verifier of ServiceAccount tokens finds their issuer or its keys at
// this path.
func IsIssuerPath(path string) bool {
	return path == serviceaccount.OpenIDConfigPath || path == serviceaccount.JWKSPath
}

// ServeHTTP serves OIDC discovery and the keys of the issuer of the request's space. RBAC of the
// space decides who may read them; its ServiceAccounts may
// (system:service-account-issuer-discovery).
func (t *Tokens) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	space := request.Space(r.Context())
	if space == "" || space == request.AllSpaces || r.Method != http.MethodGet && r.Method != http.MethodHead {
		response.Write(w, response.NotFound())
		return
	}
	issuer := t.issuer(space)
	metadata, err := serviceaccount.NewOpenIDMetadataProvider(issuer, issuer+serviceaccount.JWKSPath, "", t.keys)
	if err != nil {
		response.Write(w, response.NotFound()) // the center's address is not https
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
