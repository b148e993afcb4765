package apiserver

import (
	"net/http"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// part is a server whose kinds a space has: all of them, or of a lender those of some groups.
type part struct {
	*crdServer
	groups []string // nil for all
}

func (p part) has(group string) bool { return p.groups == nil || slices.Contains(p.groups, group) }

// openAPI is the handler for the documents of the server's kinds, without what is not of the groups.
func (p part) openAPI() http.Handler {
	of := slices.DeleteFunc(p.definitions(), func(crd *apiextensionsv1.CustomResourceDefinition) bool {
		return !p.has(crd.Spec.Group) || !isEstablished(crd)
	})
	slices.SortFunc(of, func(a, b *apiextensionsv1.CustomResourceDefinition) int { return strings.Compare(a.Name, b.Name) })
	return customDocuments{of, p.documents}
}
