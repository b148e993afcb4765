package apiserver

import (
	"context"
	"net/http"
	"time"

	"skerry.dev/skerry/server/apiserver/request"
)

// FromSite answers requests for a space that came through the gateway of a site, which is a path of
// targets. Tokens that are bound to this very site are accepted there, and nothing else is.
func (s *Server) FromSite(space, site string) http.Handler { return s.front.site(space, site) }

// IssueForSite issues a token of a ServiceAccount of a space for the pods of a site.
func (s *Server) IssueForSite(
	ctx context.Context,
	space, namespace, account, site string,
) (token string, expires time.Time, err error) {
	if s.config.Used != nil { // the account that every namespace has is made when it is needed
		if err := s.config.Used(ctx, space); err != nil {
			return "", time.Time{}, err
		}
	}
	return s.tokens.IssueForSite(request.WithSpace(ctx, space), namespace, account, site)
}

// Issued reports whether this center has signed a token of a ServiceAccount, valid or not.
func (s *Server) Issued(token string) bool { return s.tokens.Issued(token) }

// targetUID is the UID of a target, "" where there is none.
func (c *Config) targetUID(name string) string {
	if c.Target == nil {
		return ""
	}
	return c.Target(name)
}
