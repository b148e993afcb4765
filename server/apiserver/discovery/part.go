package discovery

import (
	"net/http"
	"slices"
)

// Server serves custom resources.
type Server interface {
	// Discovery returns a handler that answers /apis with the kinds of the server.
	Discovery() http.Handler
	// OpenAPI returns a handler for the documents of its kinds, restricted to the groups that has
	// reports.
	OpenAPI(has func(group string) bool) http.Handler
}

// Part is a server whose kinds a space has: all of its groups, or for a lender some of them.
type Part struct {
	Server Server
	Groups []string // nil for all
}

func (p Part) has(group string) bool { return p.Groups == nil || slices.Contains(p.Groups, group) }

// openAPI returns a handler for the documents of the server's kinds, restricted to the groups.
func (p Part) openAPI() http.Handler { return p.Server.OpenAPI(p.has) }
