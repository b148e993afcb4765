package view

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel/exchange"
)

func metricsOf(space, namespace string, options ...string) *exchange.Request {
	return view(space, namespace, append([]string{"group", "metrics.k8s.io", "version", "v1beta1", "resource",
		"pods"}, options...)...)
}

// used is what a cluster says of the Pods that are named.
func used(namespace string, names ...string) []any {
	out := []any{}
	for _, name := range names {
		out = append(out, map[string]any{
			"metadata":  map[string]any{"name": name, "namespace": namespace},
			"timestamp": "2026-01-01T00:00:00Z", "window": "30s",
			"containers": []any{map[string]any{"name": "app", "usage": map[string]any{"cpu": "7m"}}},
		})
	}
	return out
}

// names are the Pods of an answer.
func names(t *testing.T, body string) (out []string) {
	t.Helper()
	var list struct {
		Kind  string
		Items []struct {
			Metadata   struct{ Name, Namespace string }
			Containers []struct{ Usage map[string]string }
		}
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil || list.Kind != "PodMetricsList" {
		t.Fatalf("%s: %v", body, err)
	}
	for _, i := range list.Items {
		if i.Containers[0].Usage["cpu"] != "7m" {
			t.Errorf("usage in %s", body)
		}
		out = append(out, i.Metadata.Namespace+"/"+i.Metadata.Name)
	}
	return out
}

// TestUsage: the space sees what its Pods use, in namespaces that were there before its own alone.
func TestUsage(t *testing.T) {
	for _, prefix := range []string{"", "shop-"} {
		for name, c := range map[string]struct {
			request *exchange.Request
			code    int
			want    []string
		}{
			"a namespace":        {metricsOf("shop", "web"), 200, []string{"web/one", "web/strange"}},
			"one that was there": {metricsOf("shop", "lent"), 200, []string{"lent/one"}},
			"all": {metricsOf("shop", ""), 200,
				[]string{"db/one", "db/strange", "lent/one", "web/one", "web/strange"}},
			"some": {metricsOf("shop", "", "among", "db", "among", "team"), 200,
				[]string{"db/one", "db/strange"}},
			"another space's":          {metricsOf("shop", "team"), 404, nil},
			"the site's":               {metricsOf("shop", "kube-system"), 404, nil},
			"of an earlier space":      {of("s-shop-0", metricsOf("shop", "web")), 404, nil},
			"all of an earlier space":  {of("s-shop-0", metricsOf("shop", "")), 200, nil},
			"of no space":              {of("", metricsOf("shop", "web")), 404, nil},
			"of no space at all":       {of("", metricsOf("shop", "half")), 404, nil},
			"one pod":                  {metricsOf("shop", "web", "name", "one"), 200, nil},
			"one pod that is not ours": {metricsOf("shop", "lent", "name", "strange"), 404, nil},
			"one pod that is ours":     {metricsOf("shop", "lent", "name", "one"), 200, nil},
		} {
			t.Run(name+" "+prefix, func(t *testing.T) {
				at := newCluster(t, prefix)
				at.used = true
				code, body := ask(t, at.site(t), c.request)
				if code != c.code {
					t.Fatalf("%d: %s", code, body)
				}
				if code != 200 || strings.HasPrefix(name, "one pod") {
					if code == 200 && (!strings.Contains(body, `"PodMetrics"`) || !strings.Contains(body, `"name":"one"`) ||
						prefix != "" && strings.Contains(body, prefix)) {
						t.Error(body)
					}
					return
				}
				if got := names(t, body); !slices.Equal(got, c.want) {
					t.Errorf("%q, want %q", got, c.want)
				}
			})
		}
	}
}

func of(uid string, r *exchange.Request) *exchange.Request {
	r.SpaceUID = uid
	return r
}

// TestNoMetrics: a cluster that has no metrics-server is said to have none.
func TestNoMetrics(t *testing.T) {
	code, body := ask(t, newCluster(t, "").site(t), metricsOf("shop", "web"))
	if code != 404 || !strings.Contains(body, "it has no metrics-server; the owner of the site") {
		t.Errorf("%d: %s", code, body)
	}
}

// TestForeignMetrics: metrics of another namespace than the one that was asked for are not shown.
func TestForeignMetrics(t *testing.T) {
	at := newCluster(t, "")
	at.used, at.foreign = true, "team"
	for name, r := range map[string]*exchange.Request{
		"list": metricsOf("shop", "web"), "all": metricsOf("shop", ""), "one": metricsOf("shop", "web", "name", "one"),
	} {
		if code, body := ask(t, at.site(t), r); code != 502 || strings.Contains(body, "PodMetrics") {
			t.Errorf("%s: %d: %s", name, code, body)
		}
	}
}

// relaySpace is the API of a relay's space shop: Pods a.oslo and a.bergen in web, and one that is
// not the parent's. Of the targets only oslo is there.
type relaySpace struct {
	*cluster
	asked []string
}

func (s *relaySpace) answer(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	s.asked = append(s.asked, r.URL.Path)
	s.mu.Unlock()
	if !strings.HasSuffix(r.URL.Path, "/pods") {
		return s.cluster.answer(w, r)
	}
	if s.mu.Lock(); r.URL.Path != "/api/v1/namespaces/web/pods" {
		s.cluster.asked = append(s.cluster.asked, r.URL.Path)
	}
	s.mu.Unlock()
	pod := func(name, uid, at, there string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"web","uid":%q,"annotations":{"skerry.dev/reported-from":%q,`+
			`"skerry.dev/reported-as":%q,"skerry.dev/reported-uid":"x"}}}`, name, uid, at, there)
	}
	all := []string{pod("one", "u-one", "oslo", "a"), pod("two", "u-two", "bergen", "a"),
		pod("mine", "u-mine", "oslo", "b")}
	if field := r.URL.Query().Get("fieldSelector"); strings.HasPrefix(field, "metadata.name=") {
		all = slices.DeleteFunc(all, func(p string) bool { return !strings.Contains(p, `"name":"`+field[14:]+`"`) })
	}
	_, _ = io.WriteString(w, `{"kind":"PodList","items":[`+strings.Join(all, ",")+`]}`)
	return true
}

// below is the target oslo of a relay.
type below struct {
	mu    sync.Mutex
	asked []*exchange.Request
}

// Do implements exchange.Sites.
func (b *below) Do(_ context.Context, name string, r *exchange.Request) (*http.Response, error) {
	b.mu.Lock()
	b.asked = append(b.asked, r)
	b.mu.Unlock()
	if name != "oslo" {
		return nil, &exchange.Fault{Code: 503, Reason: "ServiceUnavailable", After: 10, Message: "site " + name + " is away"}
	}
	all := used("web", "a", "b")
	var v any = map[string]any{"kind": "PodMetricsList", "items": all}
	if r.Query.Has("name") {
		v = all[0]
	}
	text, err := json.Marshal(v)
	resp := answer(plain, text)
	resp.Header.Set(exchange.HeaderSite, name)
	return resp, err
}

// TestRelayUsage: a relay that is asked without a path asks its targets for the parent's Pods, and
// says who is away. Its own API is not asked for metrics.
func TestRelayUsage(t *testing.T) {
	for name, c := range map[string]struct {
		request *exchange.Request
		code    int
		want    []string
		words   string
	}{
		"a namespace": {metricsOf("shop", "web"), 200, []string{"web/one"},
			"bergen: no metrics of 1 pod: site bergen is away"},
		"all":                 {metricsOf("shop", "", "among", "web"), 200, []string{"web/one"}, "bergen"},
		"one":                 {metricsOf("shop", "web", "name", "one"), 200, nil, ""},
		"one that is away":    {metricsOf("shop", "web", "name", "two"), 503, nil, "bergen is away"},
		"one that is another": {metricsOf("shop", "web", "name", "mine"), 404, nil, "no pod web/mine"},
		"an earlier space":    {of("s-shop-0", metricsOf("shop", "web")), 404, nil, "no namespace"},
		"other objects":       {pods("shop", "web"), 404, nil, "is a relay"},
	} {
		t.Run(name, func(t *testing.T) {
			space := &relaySpace{cluster: newCluster(t, "")}
			space.api.Handle(space.answer)
			clients := target.NewClients(target.Relay(func(string) *rest.Config { return space.api.Config() }))
			t.Cleanup(clients.CloseIdle)
			children := &below{}
			relay := &Relay{Client: clients.For, Records: space, Pods: space, Children: children}
			resp, err := relay.Answer(t.Context(), c.request)
			if err != nil {
				f := exchange.FaultOf(err)
				if f.Code != c.code || !strings.Contains(f.Message, c.words) {
					t.Errorf("%d: %s", f.Code, f.Message)
				}
				return
			}
			text, err := io.ReadAll(resp.Body)
			if err != nil || c.code != 200 {
				t.Fatalf("%s: %v", text, err)
			}
			if c.want == nil {
				if !strings.Contains(string(text), `"name":"one"`) {
					t.Error(string(text))
				}
			} else if got := names(t, string(text)); !slices.Equal(got, c.want) {
				t.Errorf("%q", got)
			}
			if got := strings.Join(exchange.Warnings(resp.Header), "; "); !strings.Contains(got, c.words) ||
				(got == "") != (c.words == "") {
				t.Errorf("warnings %q", got)
			}
			for _, path := range space.asked {
				if strings.Contains(path, "metrics") {
					t.Errorf("the relay's own API is asked for %s", path)
				}
			}
			for _, r := range children.asked {
				if len(r.Path) > 0 || r.Verb != exchange.View {
					t.Errorf("asked %+v", r)
				}
			}
		})
	}
}

// TestUsageBounds: over a metered link a list has as many Pods as fit, and says so.
func TestUsageBounds(t *testing.T) {
	at := newCluster(t, "")
	at.used = true
	resp, err := at.site(t).Answer(t.Context(), metricsOf("shop", "", "limitBytes", "600"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil || len(text) > 600 {
		t.Errorf("%d bytes: %v", len(text), err)
	}
	if got := names(t, string(text)); len(got) == 0 || len(got) > 4 {
		t.Errorf("%d pods", len(got))
	}
	if w := exchange.Warnings(resp.Header); len(w) != 1 || !strings.Contains(w[0], "of 5 pods are shown") {
		t.Errorf("warnings %q", w)
	}
}
