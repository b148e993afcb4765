package discovery

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/apiserver/request"
)

// A client finds the documents that the root lists, whether its URL names the space or it comes through
// the gateway of a site, where no URL may.
func TestClientsFindOpenAPIDocuments(t *testing.T) {
	const document = `{"openapi":"3.0.0"}`
	native := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case OpenAPIv3Path:
			_, _ = fmt.Fprint(w, `{"paths":{"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1?hash=A"}}}`)
		case OpenAPIv3Path + "/api/v1":
			_, _ = fmt.Fprint(w, document)
		}
	})
	for name, c := range map[string]struct{ base, site string }{
		"by its URL":         {base: "/clusters/shop"},
		"through a gateway":  {site: "paris"},
		"by its URL of root": {},
	} {
		server := httptest.NewServer(http.StripPrefix(c.base, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			space := request.RootSpace
			if c.base+c.site != "" {
				space = "shop"
			}
			r = r.WithContext(request.WithSite(request.WithSpace(r.Context(), space), c.site))
			if r.URL.Path == OpenAPIv3Path {
				ServeOpenAPIv3Root(w, r, native, nil)
				return
			}
			ServeOpenAPIv3(w, r, native, nil)
		})))
		client := discovery.NewDiscoveryClientForConfigOrDie(&rest.Config{Host: server.URL + c.base})
		paths, err := client.OpenAPIV3().Paths()
		if err != nil || paths["api/v1"] == nil {
			t.Fatalf("%s: %v, %v", name, paths, err)
		}
		if got, err := paths["api/v1"].Schema(JSONType); string(got) != document || err != nil {
			t.Errorf("%s: %q, %v from %s", name, got, err, paths["api/v1"].ServerRelativeURL())
		}
		server.Close()
	}
}
