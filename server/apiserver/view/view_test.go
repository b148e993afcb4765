package view

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/tunnel/exchange"
)

var resolver = Resolver{
	Next: &apirequest.RequestInfoFactory{
		APIPrefixes:          sets.NewString("api", "apis"),
		GrouplessAPIPrefixes: sets.NewString("api"),
	},
}

// sites are targets that answer with what they are asked.
type sites struct {
	kind string
	got  *exchange.Request
}

func (s *sites) Do(_ context.Context, target string, r *exchange.Request) (*http.Response, error) {
	if target == "away" {
		return nil, &exchange.Fault{
			Code:    503,
			Reason:  "ServiceUnavailable",
			Message: "site away cannot be reached",
			After:   10,
		}
	} else if target == "below" { // away below a relay, which says so
		return (&exchange.Fault{Code: 503, Reason: "ServiceUnavailable", Message: "site below cannot be reached",
			After: 10}).Response(), nil
	}
	s.got = r
	said := strings.Join(
		append([]string{target}, r.Path...),
		"/",
	) + " " + r.Namespace + " " + r.Query.Encode()
	return &http.Response{
		StatusCode: 200,
		Header:     http.Header{"Content-Type": {s.kind}, "Set-Cookie": {"a=b"}},
		Body:       io.NopCloser(strings.NewReader(said)),
	}, nil
}

// get asks for a URL within space shop, and returns what RBAC is asked for, too.
func get(
	t *testing.T,
	s *sites,
	method, target, accept string,
) (*apirequest.RequestInfo, *httptest.ResponseRecorder) {
	t.Helper()
	u, err := url.ParseRequestURI(target)
	if err != nil {
		t.Fatal(err)
	}
	u.RawPath = "" // as the front does
	req := &http.Request{
		Method: method,
		URL:    u,
		Header: http.Header{"Accept": {accept}, "Cookie": {"x"}, "Impersonate-User": {"root"}},
	}
	info, err := resolver.NewRequestInfo(req)
	if err != nil {
		t.Fatal(err)
	}
	ctx := apirequest.WithRequestInfo(request.WithSpace(t.Context(), "shop"), info)
	ctx = apirequest.WithUser(ctx, &user.DefaultInfo{Name: "vera"})
	w := httptest.NewRecorder()
	(&Handler{Sites: s}).ServeHTTP(w, req.WithContext(ctx))
	return info, w
}

// TestPaths: what RBAC is asked about is what the site is asked for.
func TestPaths(t *testing.T) {
	for path, c := range map[string]struct{ attributes, asked string }{
		"/targets/paris/api/v1/namespaces/web/pods":                                              {"list pods web ", "paris web resource=pods&version=v1"},
		"/targets/eu/paris/api/v1/namespaces/web/pods/one":                                       {"get pods web one", "eu/paris web name=one&resource=pods&version=v1"},
		"/targets/a/b/c.d/apis/apps/v1/namespaces/web/deployments?watch=1&x=y&resourceVersion=5": {"watch deployments web ", "a/b/c.d web group=apps&resource=deployments&resourceVersion=5&version=v1&watch=true"},
		"/targets/paris/api/v1/pods?limit=500&limitBytes=5000": {"list pods  ",
			"paris  limit=500&limitBytes=5000&resource=pods&version=v1"},
		"/targets/paris/api/v1/watch/namespaces/web/pods": {"watch pods web ",
			"paris web resource=pods&version=v1&watch=true"},
		"/targets/paris/api/v1/namespaces/web": {"get namespaces web web",
			"paris  name=web&resource=namespaces&version=v1"},
		"/targets/paris/api/v1/namespaces": {"list namespaces  ",
			"paris  resource=namespaces&version=v1"},
		"/targets/paris/api/v1/namespaces/web/pods?fieldSelector=metadata.name%3Done": {"list pods web one",
			"paris web fieldSelector=metadata.name%3Done&resource=pods&version=v1"},
		"/targets/paris/api": {"/api", "paris  document=api"},
		"/targets/paris/api/v1": {"/api/v1",
			"paris  document=api&version=v1"},
		"/targets/paris/apis/apps/v1": {"/apis/apps/v1",
			"paris  document=apis&group=apps&version=v1"},
		"/targets/paris/openapi/v3": {"/openapi/v3",
			"paris  document=openapi%2Fv3"},
		"/targets/paris/openapi/v3/api/v1": {"/openapi/v3/api/v1",
			"paris  document=openapi%2Fv3&version=v1"},
		"/targets/paris/openapi/v3/apis/apps/v1": {"/openapi/v3/apis/apps/v1",
			"paris  document=openapi%2Fv3&group=apps&version=v1"},
		"/targets/paris/version": {"/version", "paris  document=version"},
	} {
		s := &sites{kind: "application/json"}
		info, w := get(t, s, http.MethodGet, path, "application/json")
		attributes := info.Path
		if info.IsResourceRequest {
			attributes = info.Verb + " " + info.Resource + " " + info.Namespace + " " + info.Name
		}
		if attributes != c.attributes || w.Body.String() != c.asked || w.Code != 200 {
			t.Errorf("%s\n RBAC: %s\n asked: %d %s", path, attributes, w.Code, w.Body)
		}
		if s.got != nil && (s.got.Space != "shop" || s.got.User != "vera") {
			t.Errorf("asked for %+v", s.got)
		}
		if len(w.Header()["Set-Cookie"]) > 0 {
			t.Error("a header of the site passes")
		}
	}
}

// TestRefused: no site is asked for anything else.
func TestRefused(t *testing.T) {
	const web = "/targets/paris/api/v1/namespaces/web/"
	for path, code := range map[string]int{
		"GET /targets/api/api/v1/pods":                     404,
		"GET /targets/api/v1/namespaces/web/pods":          404,
		"GET " + web + "pods?limitBytes=x":                 400,
		"POST " + web + "pods":                             405,
		"PUT " + web + "pods/one":                          405,
		"PATCH " + web + "pods/one":                        405,
		"DELETE " + web + "pods/one":                       405,
		"DELETE " + web + "pods":                           405,
		"HEAD " + web + "pods":                             405,
		"POST /targets/paris/api":                          405,
		"GET " + web + "secrets":                           403,
		"GET " + web + "secrets/key":                       403,
		"GET /targets/paris/api/v1/secrets":                403,
		"GET /targets/paris/apis/x.y/v1/secrets":           403,
		"GET /targets/paris/api/v1/watch/secrets":          403,
		"GET " + web + "pods/one/log":                      403,
		"GET " + web + "pods/one/exec?command=sh":          403,
		"GET " + web + "pods/one/a/b/c":                    403,
		"GET " + web + "pods/one%2flog":                    403,
		"GET " + web + "status":                            403,
		"GET " + web + "pods/..":                           400,
		"GET " + web + "pods/%2e%2e/x":                     403,
		"GET /targets/paris/api/v1/namespaces/../pods":     400,
		"GET /targets/paris/api/v1/proxy/nodes/n":          405,
		"GET " + web + "pods?limit=1&limit=2":              400,
		"GET " + web + "pods?limit=x":                      400,
		"GET " + web + "pods?labelSelector=a%0d%0a":        400,
		"GET /targets/paris/api/v1//pods":                  400,
		"GET /targets/paris/api/x/pods":                    400,
		"GET /targets/":                                    404,
		"GET /targets/paris":                               404,
		"GET /targets/paris/":                              404,
		"GET /targets/paris/metrics":                       404,
		"GET /targets/paris/logs/kube-apiserver.log":       404,
		"GET /targets/paris/openapi/v3/metrics":            404,
		"GET /targets/paris/openapi/metrics":               404,
		"GET /targets/paris/version/x":                     400,
		"GET /targets/paris/apis/a/b/":                     404,
		"GET /targets/PARIS/api":                           400,
		"GET /targets/../api/v1/namespaces/web/pods":       400,
		"GET /targets//api":                                400,
		"GET /targets/paris/../oslo/api":                   400,
		"GET /targets/pa%2e%2e/api":                        400,
		"GET /targets/" + strings.Repeat("a/", 18) + "api": 400,
		"GET /targets/away/api/v1/namespaces/web/pods":     503,
		"GET /targets/below/api":                           503,
		"GET /targets/below/api/v1/pods":                   503,
		"GET /targets/away/api":                            503,
	} {
		method, target, _ := strings.Cut(path, " ")
		s := &sites{kind: "application/json"}
		_, w := get(t, s, method, target, "application/json")
		var said struct{ Kind, Message string }
		if err := json.Unmarshal(
			w.Body.Bytes(),
			&said,
		); err != nil || said.Kind != "Status" ||
			said.Message == "" {
			t.Errorf("%s says %s", path, w.Body)
		}
		if w.Code != code || s.got != nil {
			t.Errorf("%s: %d, want %d; asked %+v", path, w.Code, code, s.got)
		}
		if code == 503 &&
			(w.Header().Get("Retry-After") == "" || strings.HasSuffix(target, "api") != (w.Header().Get("Warning") != "")) {
			t.Errorf("%s: %v", path, w.Header())
		}
	}
}

// TestForms: tables and lists of all groups are asked for as such, and nothing but JSON passes.
func TestForms(t *testing.T) {
	const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
	const grouped = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
	for _, c := range []struct{ path, accept, kind, want string }{
		{"/targets/paris/api/v1/namespaces/web/pods", asTable, "application/json", "form=table"},
		{"/targets/paris/apis", grouped, "application/json;g=x", "form=aggregated"},
		{"/targets/paris/apis/apps/v1", grouped, "application/json", "group=apps"},
		{"/targets/paris/api/v1/namespaces/web/pods", "application/json", "text/html", "does not answer with JSON"},
		{"/targets/paris/api/v1/namespaces/web/pods", "application/json", "", "does not answer with JSON"},
	} {
		_, w := get(t, &sites{kind: c.kind}, http.MethodGet, c.path, c.accept)
		if !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s as %s: %s", c.path, c.accept, w.Body)
		}
	}
}

// TestOthers: paths beside those of this package are resolved as ever.
func TestOthers(t *testing.T) {
	for _, path := range []string{"/targets", "/api/v1/namespaces/targets/pods", "/targetsx/paris/api/v1/pods"} {
		if Takes(path) {
			t.Errorf("%s is taken", path)
		}
	}
	info, err := resolver.NewRequestInfo(
		&http.Request{Method: "GET", URL: &url.URL{Path: "/api/v1/namespaces/web/pods"}},
	)
	if err != nil || info.Resource != "pods" || info.Path != "/api/v1/namespaces/web/pods" {
		t.Errorf("%+v, %v", info, err)
	}
}

// broken is a watch that breaks off.
type broken struct{ text string }

func (b broken) Do(context.Context, string, *exchange.Request) (*http.Response, error) {
	r, w := io.Pipe()
	go func() {
		_, _ = io.WriteString(w, b.text)
		w.CloseWithError(errors.New("a cable was cut"))
	}()
	return &http.Response{StatusCode: 200, Body: r, Header: http.Header{
		"Content-Type": {"application/json"}, exchange.HeaderSite: {"nordic/oslo"}}}, nil
}

// TestBrokenWatch: the last event of a watch that breaks off is an error, where one can begin; else
// the client's answer breaks off, too.
func TestBrokenWatch(t *testing.T) {
	const event = `{"type":"ADDED","object":{}}` + "\n"
	for name, text := range map[string]string{"between events": event, "at once": "",
		"in an event": event + `{"type":"A`} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(
				http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					info, err := resolver.NewRequestInfo(r)
					if err != nil {
						t.Error(err)
					}
					ctx := request.WithSpace(apirequest.WithRequestInfo(r.Context(), info), "shop")
					r = r.WithContext(ctx)
					(&Handler{Sites: broken{text}}).ServeHTTP(w, r)
				}),
			)
			defer server.Close()
			resp, err := http.Get(server.URL + "/targets/nordic/oslo/api/v1/pods?watch=true")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			if (err != nil) != (name == "in an event") {
				t.Errorf("the client is told: %v", err)
			}
			last, found := strings.CutPrefix(string(got), text)
			if told := strings.HasPrefix(last, `{"type":"ERROR","object":{"kind":"Status"`) &&
				strings.Contains(last, "site nordic/oslo, or the way to it, has failed: a cable was cut") &&
				strings.HasSuffix(last, "\n"); !found || told != (name != "in an event") {
				t.Errorf("%q", got)
			}
		})
	}
}
