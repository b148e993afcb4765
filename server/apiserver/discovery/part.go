package discovery

import (
	"net/http"
	"slices"
)

// Server serves custom resources.
type Server interface {
	// Discovery returns what answers /apis with the kinds of the server.
	Discovery() http.Handler
	// OpenAPI returns what answers with the documents of its kinds, of those groups that has
	// reports.
	OpenAPI(has func(group string) bool) http.Handler
}

// Part is a server whose kinds a space has: all of them, or of a lender those of some groups.
type Part struct {
	Server Server
	Groups []string // nil for all
}

func (p Part) has(group string) bool { return p.Groups == nil || slices.Contains(p.Groups, group) }

// openAPI is the handler for the documents of the server's kinds, without what is not of the
// groups.
func (p Part) openAPI() http.Handler { return p.Server.OpenAPI(p.has) }
