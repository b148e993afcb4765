package apiserver

import (
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apiserver/pkg/authentication/authenticator"

	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/response"
)

// Spaces is what the front needs to know about spaces. It is asked at every request.
type Spaces interface {
	// Has reports whether the space exists. Root always does.
	Has(name string) bool
	// Names lists the spaces, root left out, in order.
	Names() []string
	// Loaded is false until the spaces are known after a start.
	Loaded() bool
}

// front takes the space out of the URL and puts it into the request's context. It is the only place
// that does.
type front struct {
	api    http.Handler // the whole chain of the API server
	spaces Spaces
	authn  authenticator.Request
	routes map[string]http.Handler
	hosts  hosts
	// audited says that there is an audit log, which is to have the URL as it was asked for.
	audited bool
}

// outer serves the world.
func (f *front) outer() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		space, path, byHost, wrong := f.hosts.split(r)
		if h, ok := f.routes[r.URL.Path]; ok && !byHost && wrong == nil {
			h.ServeHTTP(w, r)
			return
		}
		switch {
		case wrong != nil:
			warn(w, wrong.Message)
			response.Write(w, wrong)
		case space == request.AllSpaces:
			response.Write(w, errWildcard())
		case space == request.RootSpace && (f.spaces.Loaded() || ofItself(path)):
			f.serve(w, r, space, path)
		case !f.spaces.Loaded():
			w.Header().Set("Retry-After", "1")
			response.Write(w, errNotLoaded())
		case !f.spaces.Has(space):
			f.unknown(w, r, space, path)
		default:
			f.serve(w, r, space, path)
		}
	})
}

// ofItself reports whether a path is about the server rather than about its objects: whether it is
// well, and what it is. Such paths of root are served from the start. All else of root waits until
// root has its kinds and namespaces, or a client would be told that they are not there.
func ofItself(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch first {
	case "readyz", "livez", "healthz", "version", "metrics", "debug":
		return true
	}
	return false
}

// site serves the requests of a space's pods that came through the gateway of a site. The path is
// one within the space's API: it cannot name another space.
func (f *front) site(space, site string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case space == request.RootSpace, space == request.AllSpaces, site == "":
			response.Write(w, response.NotFound())
		case !f.spaces.Loaded():
			w.Header().Set("Retry-After", "1")
			response.Write(w, errNotLoaded())
		case !f.spaces.Has(space):
			response.Write(w, response.NotFound())
		default:
			f.serve(w, r.WithContext(request.WithSite(r.Context(), site)), space, r.URL.Path)
		}
	})
}

// inner serves the loopback. It trusts the name of the space.
func (f *front) inner() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		space, path := request.Split(r.URL.Path)
		f.serve(w, r.WithContext(request.AsCenter(r.Context())), space, path)
	})
}

func (f *front) serve(w http.ResponseWriter, r *http.Request, space, path string) {
	f.serveAs(w, r, space, space, path)
}

// serveAs answers for a space that was asked for by another name.
func (f *front) serveAs(w http.ResponseWriter, r *http.Request, space, asked, path string) {
	r = r.WithContext(request.WithSpace(r.Context(), space))
	ownTraces(space, r)
	u := *r.URL
	if f.audited && asked != request.RootSpace {
		// Only what is written down is made of this form; everything is found by the path.
		whole := url.URL{Path: request.URLPrefix + asked + path}
		u.Opaque = whole.EscapedPath()
	}
	u.Path, u.RawPath = path, ""
	r.URL, r.RequestURI = &u, u.RequestURI()
	f.api.ServeHTTP(w, r)
}
