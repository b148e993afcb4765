package server_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// easyHole is found at once.
const easyHole = "paths are cleaned before the space is taken off"

// holes are what a careless API would do. Each must be found, or the test that looks for escapes
// shows nothing.
var holes = map[string]func(*world, http.Handler) http.Handler{
	easyHole: func(_ *world, h http.Handler) http.Handler {
		return rewriting(h, func(r *http.Request) { r.URL.Path = path.Clean(r.URL.Path) })
	},
	"paths are decoded twice": func(_ *world, h http.Handler) http.Handler {
		return rewriting(h, func(r *http.Request) {
			if again, err := url.PathUnescape(r.URL.Path); err == nil {
				r.URL.Path = path.Clean(again)
			}
		})
	},
	"a name is compared by its beginning": func(_ *world, h http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(rw, r)
			if rest, ok := strings.CutPrefix(r.URL.Path, "/clusters/team/"); ok && r.Method == http.MethodGet &&
				r.URL.Query().Get("watch") == "" {
				also(h, rw, r, "/clusters/team-b/"+rest)
			}
		})
	},
	"a token of one space counts in all": func(w *world, h http.Handler) http.Handler {
		return rewriting(h, func(r *http.Request) {
			for _, s := range w.spaces {
				if r.Header.Get("Authorization") == "Bearer "+s.bearer {
					r.TLS = w.identities[0].tls
				}
			}
		})
	},
	"whoever says so is the admin": func(w *world, h http.Handler) http.Handler {
		return rewriting(h, func(r *http.Request) {
			if r.Header.Get("X-Remote-Group") == "system:masters" {
				r.TLS = w.identities[0].tls
			}
		})
	},
	"a host counts more than the path": func(_ *world, h http.Handler) http.Handler {
		return rewriting(h, func(r *http.Request) {
			if name, ok := strings.CutSuffix(r.Host, "."+spacesDomain); ok {
				if _, rest, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/clusters/"), "/"); ok &&
					strings.HasPrefix(r.URL.Path, "/clusters/") {
					r.Host, r.URL.Path = "center.test", "/clusters/"+name+"/"+rest
				}
			}
		})
	},
	"a deletion reaches the twin": func(w *world, h http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(rw, r)
			if rest, ok := strings.CutPrefix(r.URL.Path, "/clusters/team-b/"); ok && r.Method == http.MethodDelete {
				also(h, &answer{header: http.Header{}}, r, "/clusters/team/"+rest)
			}
		})
	},
	"watches of one space show another": func(w *world, h http.Handler) http.Handler {
		return rewriting(h, func(r *http.Request) {
			if rest, ok := strings.CutPrefix(r.URL.Path, "/clusters/tea/"); ok && r.URL.Query().Get("watch") != "" {
				r.URL.Path = "/clusters/vault/" + rest
			}
		})
	},
}

func rewriting(h http.Handler, rewrite func(*http.Request)) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		u := *r.URL
		r = r.Clone(r.Context())
		r.URL = &u
		rewrite(r)
		h.ServeHTTP(rw, r)
	})
}

// also asks for another path as well, without a body.
func also(h http.Handler, rw http.ResponseWriter, r *http.Request, path string) {
	r = r.Clone(context.WithoutCancel(r.Context()))
	u := *r.URL
	u.Path = path
	r.URL, r.Body, r.ContentLength = &u, io.NopCloser(strings.NewReader("")), 0
	h.ServeHTTP(rw, r)
}
