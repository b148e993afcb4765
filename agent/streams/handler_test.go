package streams

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest/leak"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/pipe"
)

func TestMain(m *testing.M) { leak.Main(m) }

// site is a cluster with three Pods in namespace web: app-1 of the Deployment that space shop
// placed, bare, which shop placed itself, and one that nobody placed. Namespace other is of space
// team.
type site struct {
	api    *targettest.Server
	asked  atomic.Int32 // requests for subresources, and deletions
	answer http.HandlerFunc
	prefix string // of the names of namespaces in the cluster

	ready, going, hostNetwork bool // what the Pods are
}

// mapped begins the names of the same namespaces in a cluster that maps them.
const mapped = "bank-"

func (*site) Placed(k store.Key, uid string) bool {
	placed := map[string]store.Key{
		"u-1":    {Space: "shop", Resource: "pods", Namespace: "web", Name: "app-1"},
		"u-bare": {Space: "shop", Resource: "pods", Namespace: "web", Name: "bare"},
		"u-old":  {Space: "shop", Resource: "pods", Namespace: "web", Name: "app-2"},
		"u-team": {Space: "team", Resource: "pods", Namespace: "other", Name: "app-1"},
	}
	return placed[uid] == k
}

func (*site) Delivered(k store.Key, origin string) string {
	if k == (store.Key{Space: "shop", Resource: "pods", Namespace: "web", Name: "bare"}) &&
		origin == "o-1" {
		return "u-bare"
	}
	return ""
}

func newSite(t *testing.T) *site {
	s := &site{
		answer: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "a line\n") },
	}
	live := map[string]string{
		"web/app-1":       "u-1",
		"web/bare":        "u-bare",
		"web/stranger":    "u-stranger",
		"web/app-2":       "u-new",
		"other/app-1":     "u-team",
		"kube-system/dns": "u-dns",
	}
	s.api = targettest.New(t)
	for name, uid := range live {
		namespace, pod, _ := strings.Cut(name, "/")
		for _, prefix := range []string{"", mapped} {
			s.api.Put("v1", "Namespace", "", prefix+namespace, namespaceOf(namespace))
			s.api.Put("v1", "Pod", prefix+namespace, pod, map[string]any{"metadata": map[string]any{"uid": uid}})
		}
	}
	s.api.Handle(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/apis/apps/v1/namespaces/"+s.prefix+"web/replicasets/app" {
			io.WriteString(w, `{"kind":"ReplicaSet","metadata":{"name":"app","uid":"u-rs"},"spec":{"selector":{"matchLabels":{"hash":"1"}}}}`)
			return true
		}
		subresource := strings.Count(r.URL.Path, "/") > strings.Count("/api/v1/namespaces/NAMESPACE/pods/NAME", "/")
		if r.Method == http.MethodGet && !subresource {
			parts := strings.Split(r.URL.Path, "/")
			namespace, pod := parts[4], parts[len(parts)-1]
			uid := live[strings.TrimPrefix(namespace, mapped)+"/"+pod]
			if uid == "" || len(parts) == 5 {
				return false
			}
			going := ""
			if s.going {
				going = `,"deletionTimestamp":"2026-01-01T00:00:00Z"`
			}
			fmt.Fprintf(w, `{"kind":"Pod","metadata":{"name":%q,"namespace":%q,"uid":%q%s,"labels":{"app":"web","hash":"1"},`+
				`"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"app","uid":"u-rs","controller":true}]},`+
				`"spec":{"hostNetwork":%t,"readinessGates":[{"conditionType":"gate"}]},"status":{"conditions":[{"type":"Ready","status":%q}]}}`,
				pod, namespace, uid, going, s.hostNetwork, map[bool]string{true: "True", false: "False"}[s.ready])
			return true
		}
		s.asked.Add(1)
		s.answer(w, r)
		return true
	})
	return s
}

// namespaceOf is a Namespace of space shop, and other one of space team.
func namespaceOf(name string) map[string]any {
	space := "shop"
	if name == "other" {
		space = "team"
	}
	return map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		target.AnnotationOrigin: space + "/p", "skerry.dev/space-uid": "s-" + space,
	}}}
}

func (s *site) handler(t *testing.T, allow func(*exchange.Request) error) *Handler {
	clients := target.NewClients(target.Cluster(s.api.Config()))
	t.Cleanup(clients.CloseIdle)
	there := func(_, namespace string) string { return s.prefix + namespace }
	as := func(c *target.Client, space, _ string) *target.Client { return c.As(space) }
	return New(
		Config{
			Pods:    s,
			Backend: &Site{Client: clients.For, As: as, There: there},
			Allow:   allow,
			Log:     slog.New(slog.DiscardHandler),
		},
	)
}

// ask sends a request to a handler over a stream.
func ask(t *testing.T, h *Handler, r *exchange.Request) (*http.Response, string, error) {
	t.Helper()
	down, up := pipe.New(pipe.Options{})
	defer up.Close(nil)
	defer down.Close(nil)
	stream, err := up.OpenStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if s, err := down.AcceptStream(context.WithoutCancel(t.Context())); err == nil {
			h.ServeStream(t.Context(), s)
		}
	}()
	resp, err := exchange.RoundTrip(t.Context(), stream, r)
	if err != nil {
		up.Close(nil)
		<-done
		return nil, "", err
	}
	body := ""
	if resp.StatusCode != http.StatusSwitchingProtocols {
		text, _ := io.ReadAll(resp.Body)
		body = string(text)
	}
	resp.Body.Close()
	<-done
	return resp, body, nil
}

func logOf(space, namespace, pod, uid string) *exchange.Request {
	return &exchange.Request{
		Space:     space,
		SpaceUID:  "s-" + space,
		Namespace: namespace,
		Pod:       pod,
		UID:       uid,
		Verb:      exchange.Log,
	}
}

// TestWhoIsReached: nothing but the Pods of placed objects, of the space that asks, and those alone
// that the center means.
func TestWhoIsReached(t *testing.T) {
	s := newSite(t)
	h := s.handler(t, nil)
	for name, c := range map[string]struct {
		ask  *exchange.Request
		code int
	}{
		"a Pod of a Deployment":             {logOf("shop", "web", "app-1", "u-1"), 200},
		"a Pod that was placed":             {logOf("shop", "web", "bare", "u-bare"), 200},
		"one that nobody placed":            {logOf("shop", "web", "stranger", "u-stranger"), 404},
		"the cluster's own":                 {logOf("shop", "kube-system", "dns", "u-dns"), 404},
		"one that is not there":             {logOf("shop", "web", "gone", "u-gone"), 404},
		"another space's":                   {logOf("shop", "other", "app-1", "u-team"), 404},
		"another space's by a right UID":    {logOf("shop", "web", "app-1", "u-team"), 404},
		"as another space":                  {logOf("team", "web", "app-1", "u-1"), 404},
		"as no space":                       {logOf("root", "web", "app-1", "u-1"), 404},
		"prefix of the space":               {logOf("sho", "web", "app-1", "u-1"), 404},
		"another name with that UID":        {logOf("shop", "web", "bare", "u-1"), 404},
		"another namespace with that UID":   {logOf("shop", "other", "app-1", "u-1"), 404},
		"the UID of one before":             {logOf("shop", "web", "app-1", "u-0"), 404},
		"one that was replaced just now":    {logOf("shop", "web", "app-2", "u-old"), 404},
		"the one that replaced it, unknown": {logOf("shop", "web", "app-2", "u-new"), 404},
	} {
		t.Run(name, func(t *testing.T) {
			before := s.asked.Load()
			resp, body, err := ask(t, h, c.ask)
			if err != nil || resp.StatusCode != c.code {
				t.Fatalf("%v, %v: %s", resp, err, body)
			}
			if got := s.asked.Load() - before; (got == 1) != (c.code == 200) {
				t.Errorf("the cluster was asked %d times", got)
			}
		})
	}
	for origin, code := range map[string]int{"o-1": 200, "o-2": 404} {
		r := logOf("shop", "web", "bare", "")
		r.Origin = origin
		if resp, body, err := ask(t, h, r); err != nil || resp.StatusCode != code {
			t.Errorf("origin %s: %v, %v: %s", origin, resp, err, body)
		}
	}
}

// TestWhatTheClusterIsAsked: the request of the site's own making, as the space's account.
func TestWhatTheClusterIsAsked(t *testing.T) {
	s := newSite(t)
	h := s.handler(t, nil)
	upgrade := http.Header{
		"Connection":                {"Upgrade"},
		"Upgrade":                   {"SPDY/3.1"},
		"X-Stream-Protocol-Version": {"v4.channel.k8s.io"},
	}
	for _, c := range []struct {
		verb  exchange.Verb
		query url.Values
		up    http.Header
		body  string
		want  string // method, URI and body
	}{
		{exchange.Log, url.Values{"tailLines": {"1"}}, nil, "", "GET /api/v1/namespaces/web/pods/app-1/log?tailLines=1 "},
		{exchange.Exec, url.Values{"command": {"sh", "-c", "a b"}}, upgrade, "",
			"POST /api/v1/namespaces/web/pods/app-1/exec?command=sh&command=-c&command=a+b "},
		{exchange.PortForward, nil, upgrade, "", "POST /api/v1/namespaces/web/pods/app-1/portforward "},
		{exchange.Debug, nil, nil, `[{"name":"d"}]`,
			`PATCH /api/v1/namespaces/web/pods/app-1/ephemeralcontainers ` +
				`{"metadata":{"uid":"u-1"},"spec":{"ephemeralContainers":[{"name":"d"}]}}`},
		{exchange.Delete, url.Values{"gracePeriodSeconds": {"3"}}, nil, "",
			`DELETE /api/v1/namespaces/web/pods/app-1 {"apiVersion":"v1","gracePeriodSeconds":3,` +
				`"kind":"DeleteOptions","preconditions":{"uid":"u-1"}}`},
		{exchange.Change, nil, nil, `{"labels":{"role":"primary","old":null}}`,
			`PATCH /api/v1/namespaces/web/pods/app-1 {"metadata":{"labels":{"old":null,"role":"primary"},"uid":"u-1"}}`},
		{exchange.Change, url.Values{"dryRun": {"All"}}, nil, `{"conditions":[{"type":"gate","status":"True"}]}`,
			`PATCH /api/v1/namespaces/web/pods/app-1/status?dryRun=All {"metadata":{"uid":"u-1"},"status":{"conditions":[{"type":"gate","status":"True"}]}}`},
		{exchange.Evict, nil, nil, "",
			`POST /api/v1/namespaces/web/pods/app-1/eviction {"apiVersion":"policy/v1",` +
				`"deleteOptions":{"apiVersion":"v1","kind":"DeleteOptions",` +
				`"preconditions":{"uid":"u-1"}},"kind":"Eviction","metadata":{"name":"app-1","namespace":"web"}}`},
	} {
		t.Run(string(c.verb), func(t *testing.T) {
			got, as := "", ""
			s.answer = func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got, as = r.Method+" "+r.RequestURI+" "+string(
					body,
				), r.Header.Get(
					"Impersonate-User",
				)
				for name := range r.Header {
					if strings.HasPrefix(name, "Skerry-") || name == "Authorization" {
						t.Errorf("header %s went along", name)
					}
				}
				w.WriteHeader(http.StatusForbidden) // which passes as it is
				io.WriteString(w, `{"kind":"Status","message":"the cluster says no"}`)
			}
			r := &exchange.Request{
				Space:     "shop",
				SpaceUID:  "s-shop",
				Namespace: "web",
				Pod:       "app-1",
				UID:       "u-1",
				Verb:      c.verb,
				Query:     c.query,
				Upgrade:   c.up,
				Body:      []byte(c.body),
			}
			resp, body, err := ask(t, h, r)
			if err != nil || resp.StatusCode != 403 ||
				!strings.Contains(body, "the cluster says no") {
				t.Fatalf("%v, %v: %s", resp, err, body)
			}
			if got != c.want || as != "system:serviceaccount:skerry-spaces:shop" {
				t.Errorf("as %s\n%s\nwant %s", as, got, c.want)
			}
		})
	}
	bad := &exchange.Request{
		Space:     "shop",
		SpaceUID:  "s-shop",
		Namespace: "web",
		Pod:       "app-1",
		UID:       "u-1",
		Verb:      exchange.Debug,
		Body:      []byte(`]},"nodeName":"x"`),
	}
	if resp, body, err := ask(t, h, bad); err != nil || resp.StatusCode != 400 {
		t.Errorf("a body that leaves its place: %v, %v: %s", resp, err, body)
	}
}

// TestMappedNamespace: the parent knows a namespace by the space's name, the cluster by its own.
func TestMappedNamespace(t *testing.T) {
	s := newSite(t)
	s.prefix = mapped
	asked := ""
	s.answer = func(w http.ResponseWriter, r *http.Request) { asked = r.URL.Path }
	resp, body, err := ask(t, s.handler(t, nil), logOf("shop", "web", "app-1", "u-1"))
	if want := "/api/v1/namespaces/bank-web/pods/app-1/log"; err != nil || resp.StatusCode != 200 || asked != want {
		t.Errorf("%v, %v: %s; asked for %s, want %s", resp, err, body, asked, want)
	}
}

// TestClusterThatRedirects: neither the agent nor the parent follows it.
func TestClusterThatRedirects(t *testing.T) {
	s := newSite(t)
	elsewhere := httptest.NewServer(
		http.HandlerFunc(
			func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") },
		),
	)
	defer elsewhere.Close()
	s.answer = func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) }
	resp, body, err := ask(t, s.handler(t, nil), logOf("shop", "web", "app-1", "u-1"))
	if err != nil || resp.StatusCode != http.StatusBadGateway || resp.Header.Get("Location") != "" {
		t.Errorf("%v, %v: %s", resp, err, body)
	}
}

// TestSiteHasTheLastWord: what the site does not allow is refused before anything is looked up.
func TestSiteHasTheLastWord(t *testing.T) {
	s := newSite(t)
	h := s.handler(t, func(r *exchange.Request) error {
		if r.Verb == exchange.Log {
			return errors.New("site oslo does not allow this")
		}
		return nil
	})
	resp, body, err := ask(t, h, logOf("shop", "web", "app-1", "u-1"))
	if err != nil || resp.StatusCode != 403 || !strings.Contains(body, "oslo") ||
		s.asked.Load() != 0 {
		t.Errorf("%v, %v: %s", resp, err, body)
	}
}

// TestAuditLine: who, what, where, and of a command the first word alone.
func TestAuditLine(t *testing.T) {
	s := newSite(t)
	h := s.handler(t, nil)
	var said []target.Written
	h.Audit = func(w target.Written) { said = append(said, w) }
	r := &exchange.Request{
		Space:     "shop",
		SpaceUID:  "s-shop",
		Namespace: "web",
		Pod:       "app-1",
		UID:       "u-1",
		Verb:      exchange.Exec,
		User:      "vera",
		Query:     url.Values{"command": {"mysql", "-psecret"}, "container": {"db"}},
		Upgrade:   http.Header{"Connection": {"Upgrade"}, "Upgrade": {"SPDY/3.1"}},
	}
	if _, _, err := ask(t, h, r); err != nil {
		t.Fatal(err)
	}
	if len(said) != 1 || said[0].User != "vera" || said[0].Container != "db" ||
		said[0].Command != "mysql" ||
		said[0].Verb != "exec" ||
		said[0].Code != 200 {
		t.Errorf("%+v", said)
	}
}

// TestSpacesOfOneName: a space that was made again under a name reaches no Pod of the one before.
func TestSpacesOfOneName(t *testing.T) {
	s := newSite(t)
	h := s.handler(t, nil)
	for uid, code := range map[string]int{"s-shop": 200, "s-shop-2": 404, "": 404} {
		r := logOf("shop", "web", "app-1", "u-1")
		r.SpaceUID = uid
		before := s.asked.Load()
		resp, body, err := ask(t, h, r)
		if err != nil || resp.StatusCode != code || (s.asked.Load() > before) != (code == 200) {
			t.Errorf("space %q: %v, %v: %s", uid, resp, err, body)
		}
	}
}
