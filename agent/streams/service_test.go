package streams

import (
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/tunneltest"
)

type m = map[string]any

// served is a site with a Service web of space shop, which has one Pod, app-1, at the address of this machine.
type served struct {
	api  *targettest.Server
	port int  // at which app-1 sends back what it gets
	lost bool // no Pod is the space's
}

func (s *served) Placed(k store.Key, uid string) bool {
	return !s.lost && k == store.Key{Space: "shop", Resource: "pods", Namespace: "web", Name: "app-1"} && uid == "u-1"
}

func (s *served) Delivered(k store.Key, origin string) string {
	if k == (store.Key{Space: "shop", Resource: "services", Namespace: "web", Name: "web"}) && origin == "o-web" {
		return "u-web"
	}
	return ""
}

func newServed(t *testing.T) *served {
	s := &served{api: targettest.New(t), port: tunneltest.Serve(t, tunneltest.Echo).Port}
	s.api.Put("v1", "Namespace", "", "web", namespaceOf("web"))
	s.api.Put("v1", "Service", "web", "web", m{"metadata": m{"uid": "u-web"}, "spec": m{"selector": m{"app": "web"},
		"ports": []any{m{"name": "http", "port": 80}, m{"name": "dns", "port": 53, "protocol": "UDP"}}}})
	s.pod(m{})
	s.slice("web-abcde", m{})
	return s
}

// pod writes the Pod, with other fields.
func (s *served) pod(other m) {
	s.api.Put("v1", "Pod", "web", "app-1", m{"metadata": m{"uid": "u-1"}, "spec": m{"nodeName": "n"}, "status": m{
		"podIP": "127.0.0.1", "conditions": []any{m{"type": "Ready", "status": "True"}}}})
	s.api.Put("v1", "Pod", "web", "app-1", other)
}

// slice writes a slice of the Service whose endpoint is the Pod, with other fields.
func (s *served) slice(name string, other m) {
	s.api.Put("discovery.k8s.io/v1", "EndpointSlice", "web", name, m{
		"metadata": m{"labels": m{"kubernetes.io/service-name": "web"}, "ownerReferences": []any{
			m{"apiVersion": "v1", "kind": "Service", "name": "web", "uid": "u-web", "controller": true}}},
		"endpoints": []any{m{"addresses": []any{"127.0.0.1"}, "conditions": m{"ready": true},
			"targetRef": m{"kind": "Pod", "namespace": "web", "name": "app-1", "uid": "u-1"}}},
		"ports": []any{m{"name": "http", "port": s.port}}})
	s.api.Put("discovery.k8s.io/v1", "EndpointSlice", "web", name, other)
}

func (s *served) handler(t *testing.T) *Handler {
	clients := target.NewClients(target.Cluster(s.api.Config()))
	t.Cleanup(clients.CloseIdle)
	return New(Config{Pods: s, Log: slog.New(slog.DiscardHandler), Backend: &Site{
		Client: clients.For, Pods: s,
		As:    func(c *target.Client, _, _ string) *target.Client { return c },
		There: func(_, namespace string) string { return namespace },
	}})
}

func call(port string) *exchange.Request {
	return &exchange.Request{Space: "shop", SpaceUID: "s-shop", Namespace: "web", Pod: "web", Resource: exchange.Services,
		Origin: "o-web", Verb: exchange.Connect, Query: url.Values{exchange.OptionPort: {port}}, Upgrade: exchange.Bytes()}
}

// A Service is called by its own port, at a ready Pod, in both directions, and each half ends by itself.
func TestServe(t *testing.T) {
	s := newServed(t)
	resp, end := connect(t, s.handler(t), call("80"))
	defer end()
	conn, is := resp.Body.(io.ReadWriteCloser)
	if resp.StatusCode != http.StatusSwitchingProtocols || !is {
		t.Fatalf("%d", resp.StatusCode)
	}
	text := strings.Repeat("hello ", 50_000)
	go func() {
		_, _ = io.WriteString(conn, text)
		_ = conn.(exchange.CloseWriter).CloseWrite()
	}()
	if got, err := io.ReadAll(conn); err != nil || string(got) != text {
		t.Errorf("%d bytes of %d came back: %v", len(got), len(text), err)
	}
}

// A Pod of a headless Service is called by its host name, and no other one answers in its place.
func TestServeAHost(t *testing.T) {
	s := newServed(t)
	host := func(name string) *exchange.Request {
		r := call("80")
		r.Query.Set(exchange.OptionHost, name)
		return r
	}
	h := s.handler(t)
	resp, text, err := ask(t, h, host("app-1"))
	if err != nil || resp.StatusCode != 503 || !strings.Contains(text, "of Pod app-1") {
		t.Errorf("a Pod without a host name: %v %s %v", resp, text, err)
	}
	s.slice("web-abcde", m{"endpoints": []any{m{"addresses": []any{"127.0.0.1"}, "hostname": "app-1", "conditions": m{
		"ready": true}, "targetRef": m{"kind": "Pod", "namespace": "web", "name": "app-1", "uid": "u-1"}}}})
	for name, want := range map[string]int{"app-1": http.StatusSwitchingProtocols, "app-2": 503} {
		resp, end := connect(t, h, host(name))
		if end(); resp.StatusCode != want {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
	}
}

// Nothing but a ready Pod of the space that the cluster itself has found for the very Service is connected to.
func TestServeRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*served)
		r    *exchange.Request
		code int
		says string
	}{
		"another Service": {nil, func() *exchange.Request {
			r := call("80")
			r.Origin = "o-other"
			return r
		}(), 404, "no service"},
		"an earlier space": {nil, func() *exchange.Request {
			r := call("80")
			r.SpaceUID = "s-earlier"
			return r
		}(), 404, "no service"},
		"no such port": {nil, call("81"), 503, "no such TCP port"},
		"a UDP port":   {nil, call("53"), 503, "no such TCP port"},
		"without selector": {func(s *served) {
			s.api.Replace("v1", "Service", "web", "web", m{"spec": m{"ports": []any{m{"name": "http", "port": 80}}}})
		}, call("80"), 503, "no selector"},
		"no endpoint ready": {func(s *served) {
			s.slice("web-abcde", m{"endpoints": []any{m{"conditions": m{"ready": false}}}})
		}, call("80"), 503, "none of its pods is ready"},
		"a slice of somebody else": {func(s *served) {
			s.api.Replace("discovery.k8s.io/v1", "EndpointSlice", "web", "web-abcde", m{"metadata": m{"name": "web-abcde",
				"namespace": "web", "labels": m{"kubernetes.io/service-name": "web"}}})
		}, call("80"), 503, "none of its pods is ready"},
		"no Pod of the space": {func(s *served) { s.lost = true }, call("80"), 503, "no pod"},
		"not ready": {func(s *served) {
			s.pod(m{"status": m{"conditions": []any{m{"type": "Ready", "status": "False"}}}})
		}, call("80"), 503, "not ready"},
		"in the node's network": {func(s *served) { s.pod(m{"spec": m{"hostNetwork": true}}) }, call("80"), 503, "hostNetwork"},
		"its address is another one's now": {func(s *served) { s.pod(m{"status": m{"podIP": "127.0.0.2"}}) }, call("80"), 503,
			"no pod"},
		"nobody listens": {func(s *served) {
			s.api.Replace("discovery.k8s.io/v1", "EndpointSlice", "web", "web-abcde", m{"ports": []any{
				m{"name": "http", "port": 1}}})
		}, call("80"), 503, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServed(t)
			if c.set != nil {
				c.set(s)
			}
			resp, text, err := ask(t, s.handler(t), c.r)
			if err != nil || resp.StatusCode != c.code || !strings.Contains(text, c.says) {
				t.Errorf("%v %s %v", resp, text, err)
			}
		})
	}
}

// The Pod has gone, and another one has its address, between the look at the Service and the connection: no byte
// passes.
func TestServeLooksAgain(t *testing.T) {
	s := newServed(t)
	s.api.Handle(func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/pods/app-1") {
			s.pod(m{"status": m{"podIP": "127.0.0.2"}})
		}
		return false
	})
	if resp, text, err := ask(t, s.handler(t), call("80")); err != nil || resp.StatusCode != 503 {
		t.Errorf("%v %s %v", resp, text, err)
	}
}

// Many connections cost one look at the Service, and one at the Pod each. When none of the Pods that were found
// answers, the Service is looked at again.
func TestServeRemembersForAMoment(t *testing.T) {
	s := newServed(t)
	h := s.handler(t)
	connected := func() bool {
		t.Helper()
		resp, end := connect(t, h, call("80"))
		defer end()
		return resp.StatusCode == http.StatusSwitchingProtocols
	}
	slices := "/apis/discovery.k8s.io/v1/namespaces/web/endpointslices"
	for range 3 {
		if !connected() {
			t.Fatal("not connected")
		}
	}
	if n := s.api.Listed(slices); n > 2 { // a slow machine may take longer than a moment
		t.Errorf("looked at the Service %d times", n)
	}
	k := asked{"shop", "s-shop", "web", "web", "u-web", "80"}
	h.Backend.(*Site).found.put(k, serving{backends: []backend{{"127.0.0.1", "app-1", "u-gone", "", s.port}}})
	if !connected() {
		t.Error("what was found a moment ago has gone, and the Service is not looked at again")
	}
	for i := range 2 * mostFound {
		h.Backend.(*Site).found.put(asked{port: strconv.Itoa(i)}, serving{})
	}
	if n := len(h.Backend.(*Site).found.was); n > mostFound {
		t.Errorf("%d are kept", n)
	}
}

// Of a Service that is known to have no ready Pod here the cluster is not asked.
func TestServeNothing(t *testing.T) {
	s := newServed(t)
	h := s.handler(t)
	idle := true
	h.Backend.(*Site).Idle = func(namespace, service string) bool { return idle && namespace == "web" && service == "web" }
	slices := "/apis/discovery.k8s.io/v1/namespaces/web/endpointslices"
	resp, text, err := ask(t, h, call("80"))
	if err != nil || resp.StatusCode != 503 || !strings.Contains(text, noneReady) || s.api.Listed(slices) > 0 {
		t.Errorf("%v %s %v, looked %d times", resp, text, err, s.api.Listed(slices))
	}
	idle = false
	resp, end := connect(t, h, call("80"))
	defer end()
	if resp.StatusCode != http.StatusSwitchingProtocols {
		t.Errorf("with a Pod: %d", resp.StatusCode)
	}
}

// An address to which there is no way is not tried for a while: the API server forwards the port. One space's Pods
// say nothing of another's.
func TestWay(t *testing.T) {
	var w way
	for _, want := range []struct {
		what, space, address string
		refused, closed      bool
	}{
		{"a port that refuses was reached", "shop", "127.0.0.1:1", true, false},
		{"without a way it is forwarded", "shop", "[fe80::1%none]:1", false, true},
		{"so it is a moment later", "shop", "127.0.0.1:1", false, true},
		{"another space has a way", "team", "127.0.0.1:1", true, false},
	} {
		conn, err := w.dial(t.Context(), want.space, want.address)
		if conn != nil || (err != nil) != want.refused || w.isClosed(want.space) != want.closed {
			t.Errorf("%s: %v, %v, closed %v", want.what, conn, err, w.isClosed(want.space))
		}
	}
}
