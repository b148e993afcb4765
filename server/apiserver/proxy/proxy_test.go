package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	api "k8s.io/kubernetes/pkg/apis/core"

	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/webhook"
	"skerry.dev/skerry/store/storetest/leak"
	"skerry.dev/skerry/tunnel/exchange"
)

func TestMain(m *testing.M) { leak.Main(m) }

// world is a space with one Service and one Pod, and the sites that the Pods behind it are at.
type world struct {
	t    *testing.T
	pod  *httptest.Server
	away map[string]bool // targets
	none *webhook.NoBackend

	mu    sync.Mutex
	asked []exchange.Request
	got   []*http.Request
}

func newWorld(t *testing.T, tls bool) *world {
	w := &world{t: t, away: map[string]bool{}}
	w.pod = httptest.NewUnstartedServer(http.HandlerFunc(w.answer))
	if tls {
		w.pod.StartTLS()
	} else {
		w.pod.Start()
	}
	t.Cleanup(w.pod.Close)
	return w
}

func (w *world) answer(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.got = append(w.got, r)
	w.mu.Unlock()
	if r.Header.Get("Upgrade") != "" {
		conn, buffered, _ := rw.(http.Hijacker).Hijack()
		defer conn.Close()
		fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		line, _ := buffered.ReadString('\n')
		fmt.Fprint(conn, strings.ToUpper(line))
		return
	}
	rw.Header().Set("Set-Cookie", "session=1")
	rw.Header().Set("Alt-Svc", `h3=":1"`)
	rw.Header().Set("Content-Security-Policy", "default-src *")
	if r.URL.Path == "/old" {
		http.Redirect(rw, r, "/new?a=b", http.StatusFound)
		return
	}
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(rw, "%s %s %s", r.Method, r.URL, body)
}

// Do implements webhook.Sites.
func (w *world) Do(_ context.Context, target string, r *exchange.Request) (*http.Response, error) {
	if err := r.Check(); err != nil {
		w.t.Error(err)
	}
	w.mu.Lock()
	w.asked = append(w.asked, *r)
	w.mu.Unlock()
	if w.away[target] {
		return nil, &exchange.Fault{Code: http.StatusServiceUnavailable, Message: "it has no session"}
	}
	conn, err := net.Dial("tcp", w.pod.Listener.Addr().String())
	return &http.Response{StatusCode: http.StatusSwitchingProtocols, Body: conn, Header: http.Header{}}, err
}

// Behind implements webhook.Services.
func (w *world) Behind(_ context.Context, of webhook.Service) (out []webhook.Backend, err error) {
	if w.none != nil {
		return nil, w.none
	}
	for _, target := range []string{"oslo", "bergen"} {
		out = append(out, webhook.Backend{
			Place: exchange.Place{Target: target, Pod: "web-1", UID: "u-1"}, Pod: "web-1", Port: of.Port + 8000,
		})
	}
	return out, nil
}

type objects map[string]runtime.Object

// Get implements rest.Getter.
func (o objects) Get(_ context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	if found := o[name]; found != nil {
		return found, nil
	}
	return nil, apierrors.NewNotFound(api.Resource("services"), name)
}

func (w *world) services(ports ...api.ServicePort) *Services {
	return &Services{Objects: objects{"web": &api.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "proxy"}, Spec: api.ServiceSpec{Ports: ports},
	}}, Backends: w, Sites: w}
}

func port(name string, number int32) api.ServicePort {
	return api.ServicePort{Name: name, Port: number, TargetPort: intstr.FromString("any")}
}

// ask sends a request to a subresource as the API server does.
func (w *world) ask(c rest.Connecter, id, below string, r *http.Request) (*http.Response, string) {
	ctx := apirequest.WithUser(request.WithSpace(w.t.Context(), "shop"),
		&user.DefaultInfo{Name: "ann", Groups: []string{"devs"}})
	options, _, _ := c.NewConnectOptions()
	switch o := options.(type) {
	case *api.ServiceProxyOptions:
		o.Path = below
	case *api.PodProxyOptions:
		o.Path = below
	}
	recorder := httptest.NewRecorder()
	h, err := c.Connect(ctx, id, options, nil)
	if err != nil {
		w.t.Helper()
		return nil, err.Error()
	}
	h.ServeHTTP(recorder, r.WithContext(ctx))
	return recorder.Result(), recorder.Body.String()
}

const front = "/clusters/shop/api/v1/namespaces/proxy/services/web/proxy"

func TestServiceIsAskedAsNobodyKnown(t *testing.T) {
	w := newWorld(t, false)
	r := httptest.NewRequest(http.MethodPost, front+"/a/b/?x=1&x=2", strings.NewReader("body"))
	for _, name := range []string{
		"Authorization", "Cookie", "Proxy-Authorization", "Impersonate-User", "Impersonate-Extra-A", "X-Remote-User",
	} {
		r.Header.Set(name, "secret")
	}
	r.Header.Set("X-Kept", "yes")
	resp, body := w.ask(w.services(port("", 80)), "web", "a/b/", r)
	if resp == nil || resp.StatusCode != http.StatusOK || body != "POST /a/b/?x=1&x=2 body" {
		t.Fatalf("answered %v, %s", resp, body)
	}
	for name, values := range w.got[0].Header {
		if slices.Contains(values, "secret") {
			t.Errorf("the pod has seen %s", name)
		}
	}
	if got := w.got[0]; got.Header.Get("X-Kept") != "yes" || got.Host != "web.proxy.svc" ||
		got.Header.Get("X-Forwarded-Uri") != front+"/a/b/" {
		t.Errorf("the pod was asked %s %v", got.Host, got.Header)
	}
	if a := w.asked[0]; a.Space != "shop" || a.Namespace != "proxy" || a.Verb != exchange.Connect ||
		a.Pod != "web-1" || a.UID != "u-1" || a.User != "ann" || a.Query.Get(exchange.OptionPort) != "8080" {
		t.Errorf("the site was asked %+v", a)
	}
	if h := resp.Header; h.Get("Set-Cookie")+h.Get("Alt-Svc") != "" || h.Get("Content-Security-Policy") != sandbox ||
		h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("answered with %v", h)
	}
}

func TestPortOfService(t *testing.T) {
	w := newWorld(t, false)
	two := w.services(port("http", 80), port("admin", 81))
	for id, want := range map[string]string{"web:admin": "8081", "web:80": "8080", "http:web:81": "8081"} {
		w.asked = nil
		if resp, body := w.ask(two, id, "x", httptest.NewRequest(http.MethodGet, front+"/x", nil)); resp == nil ||
			resp.StatusCode != http.StatusOK || w.asked[0].Query.Get(exchange.OptionPort) != want {
			t.Errorf("%s: %v %s, asked %v", id, resp, body, w.asked)
		}
	}
	for id, want := range map[string]string{
		"web": "no service port", "web:82": "no service port", "none": "not found", "a:b:c:d": "invalid service request",
	} {
		if resp, said := w.ask(two, id, "x", httptest.NewRequest(http.MethodGet, front+"/x", nil)); resp != nil ||
			!strings.Contains(said, want) {
			t.Errorf("%s: %v, %s", id, resp, said)
		}
	}
}

func TestRedirectsStayBelow(t *testing.T) {
	w := newWorld(t, false)
	s := w.services(port("", 80))
	for asked, want := range map[string]struct{ below, location string }{
		front + "/old":   {"old", front + "/new?a=b"},
		front + "?x=%2F": {"", front + "/?x=%2F"},
	} {
		resp, _ := w.ask(s, "web", want.below, httptest.NewRequest(http.MethodGet, asked, nil))
		if resp == nil || resp.Header.Get("Location") != want.location {
			t.Errorf("%s leads to %v", asked, resp)
		}
	}
}

func TestNoPodAnswers(t *testing.T) {
	w := newWorld(t, false)
	s := w.services(port("", 80))
	get := func() (*http.Response, string) {
		return w.ask(s, "web", "x", httptest.NewRequest(http.MethodGet, front+"/x", nil))
	}
	w.away = map[string]bool{"oslo": true}
	for range 8 { // the order is random
		if resp, body := get(); resp == nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("one of two sites is away: %v, %s", resp, body)
		}
	}
	w.away["bergen"] = true
	if resp, body := get(); resp == nil || resp.StatusCode != http.StatusServiceUnavailable ||
		!strings.Contains(body, "site bergen: it has no session") {
		t.Errorf("no site answers: %v, %s", resp, body)
	}
	w.none = &webhook.NoBackend{Name: "web", Why: "no pod has its selector"}
	if resp, said := get(); resp != nil || !strings.Contains(said, "no endpoints available for service") {
		t.Errorf("nothing is behind it: %v, %s", resp, said)
	}
}

func TestPodIsAskedOverTLS(t *testing.T) {
	w := newWorld(t, true)
	p := &Pods{Sites: w, Objects: objects{"web-1": &api.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web-1", Namespace: "proxy", UID: "here", Annotations: map[string]string{
			"skerry.dev/reported-from": "oslo", exchange.ReportedUID: "u-1",
		}},
		Spec: api.PodSpec{Containers: []api.Container{{}, {Ports: []api.ContainerPort{{ContainerPort: 9000}}}}},
	}, "new": &api.Pod{ObjectMeta: metav1.ObjectMeta{Name: "new"}}}}
	get := httptest.NewRequest(http.MethodGet, strings.Replace(front, "services/web", "pods/x", 1)+"/m", nil)
	for id, want := range map[string]string{"https:web-1:": "9000", "https:web-1:8443": "8443"} {
		w.asked = nil
		if resp, body := w.ask(p, id, "m", get); resp == nil || body != "GET /m " ||
			w.asked[0].Query.Get(exchange.OptionPort) != want {
			t.Errorf("%s: %v, %s, asked %v", id, resp, body, w.asked)
		}
	}
	for _, id := range []string{"web-1:http", "web-1:0", "web-1:65536", "new", "none"} {
		if resp, said := w.ask(p, id, "m", get); resp != nil {
			t.Errorf("%s: %v, %s", id, resp, said)
		}
	}
}

// TestUpgrade: what is upgraded goes both ways, and ends with the client.
func TestUpgrade(t *testing.T) {
	w := newWorld(t, false)
	s := w.services(port("", 80))
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		ctx := request.WithSpace(r.Context(), "shop")
		h, err := s.Connect(ctx, "web", &api.ServiceProxyOptions{Path: "ws"}, nil)
		if err != nil {
			t.Error(err)
			return
		}
		h.ServeHTTP(rw, r.WithContext(ctx))
	}))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET %s/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n", front)
	answers := bufio.NewReader(conn)
	resp, err := http.ReadResponse(answers, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("upgrade: %v, %v", resp, err)
	}
	fmt.Fprintln(conn, "hello")
	if line, err := answers.ReadString('\n'); line != "HELLO\n" {
		t.Errorf("answered %q, %v", line, err)
	}
}
