package ingress

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"iter"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
)

// center is a Controller between callers and applications of this process. It implements API.
type center struct {
	*Controller
	t *testing.T
	// at is where callers come in.
	at string

	mu      sync.Mutex
	objects map[store.Key]map[string]any
	events  []placement.Event
	// apps are the addresses of Services' Pods; refusal is why no call reaches them, nil for none.
	apps    map[string]string
	refusal error
	moving  bool
	open    int // connections
	calls   []*exchange.Request
}

func start(t *testing.T, balancers ...netip.Prefix) *center {
	t.Helper()
	c := &center{t: t, objects: map[store.Key]map[string]any{}, apps: map[string]string{}}
	c.Controller = New(Config{API: c, Address: "192.0.2.1", Connect: c.connect, Metrics: NewMetrics(), Balancers: balancers,
		Reaches: func(store.Key, string) bool { return true },
		Moves:   func(store.Key) bool { c.mu.Lock(); defer c.mu.Unlock(); return c.moving },
		Event: func(e placement.Event) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.events = append(c.events, e)
		}, Log: slog.New(slog.DiscardHandler)})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.at = l.Addr().String()
	c.Reset(1, nothing{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- c.Serve(ctx, []net.Listener{l}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return c
}

// nothing is a center that has no objects.
type nothing struct{}

func (nothing) Keys() iter.Seq2[store.Key, int] { return func(func(store.Key, int) bool) {} }
func (nothing) Objects(func(store.Key) bool) iter.Seq[store.Write] {
	return func(func(store.Write) bool) {}
}

// connect dials the Pod of a Service.
func (c *center) connect(ctx context.Context, r *exchange.Request) (*http.Response, error) {
	c.mu.Lock()
	c.calls = append(c.calls, r)
	at, refusal := c.apps[r.Pod], c.refusal
	c.mu.Unlock()
	if refusal != nil || at == "" {
		if refusal == nil {
			refusal = &exchange.Fault{Code: http.StatusServiceUnavailable, Reason: "ServiceUnavailable", Message: "site paris: no pod"}
		}
		return nil, refusal
	}
	conn, err := net.Dial("tcp", at)
	if err != nil {
		return nil, err
	}
	c.opens(1)
	context.AfterFunc(ctx, func() { conn.Close(); c.opens(-1) })
	return &http.Response{StatusCode: http.StatusSwitchingProtocols, Header: exchange.Bytes(), Body: conn}, nil
}

func (c *center) opens(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open += n
}

func (c *center) opened() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}

// app serves a Service.
func (c *center) app(service string, h http.HandlerFunc) {
	s := httptest.NewServer(h)
	c.t.Cleanup(s.Close)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.apps[service] = s.Listener.Addr().String()
}

// set changes how calls go.
func (c *center) set(refusal error, moving bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refusal, c.moving = refusal, moving
}

// put writes an object, or deletes it when it is nil.
func (c *center) put(k store.Key, obj m) {
	var copied map[string]any
	if obj != nil {
		text, _ := json.Marshal(obj)
		_ = json.Unmarshal(text, &copied)
	}
	c.mu.Lock()
	if c.objects[k] = copied; obj == nil {
		delete(c.objects, k)
	}
	c.mu.Unlock()
	c.Apply(store.Write{Key: k, Object: copied})
}

func (c *center) grant(space string, hosts ...any) {
	c.put(store.Key{Space: "root", Group: "skerry.dev", Resource: "spaces", Name: space}, m{"spec": m{"hosts": hosts}})
}

func (c *center) service(space, name string) {
	c.put(store.Key{Space: space, Resource: "services", Namespace: "app", Name: name},
		m{"metadata": m{"uid": "uid-" + name}, "spec": m{"ports": []any{m{"name": "http", "port": 80}}}})
}

func ingressKey(space, name string) store.Key {
	return store.Key{Space: space, Group: "networking.k8s.io", Resource: "ingresses", Namespace: "app", Name: name}
}

func (c *center) ingress(space, name string, spec m) {
	spec["ingressClassName"] = "skerry"
	c.put(ingressKey(space, name), m{"metadata": m{"uid": "uid-" + name, "creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": spec})
}

// Live implements API.
func (c *center) Live(_ context.Context, k store.Key, _ string) (map[string]any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	obj := c.objects[k]
	if obj == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: k.Resource}, k.Name)
	}
	return obj, nil
}

// Patch implements API, for the status of Ingresses.
func (c *center) Patch(_ context.Context, k store.Key, _, subresource string, patch []byte) (map[string]any, error) {
	var p map[string]any
	if err := json.Unmarshal(patch, &p); err != nil || subresource != "status" {
		c.t.Errorf("patch %s of %s: %s", subresource, k, patch)
	}
	c.mu.Lock()
	obj := c.objects[k]
	if obj == nil {
		c.mu.Unlock()
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: k.Resource}, k.Name)
	}
	now := map[string]any{"metadata": obj["metadata"], "spec": obj["spec"], "status": p["status"]}
	c.objects[k] = now
	c.mu.Unlock()
	c.Apply(store.Write{Key: k, Object: now})
	return now, nil
}

// shows is what the status of an Ingress says.
func (c *center) shows(space, name string) string {
	obj, err := c.Live(c.t.Context(), ingressKey(space, name), "")
	if err != nil {
		return err.Error()
	}
	return shown(obj)
}

func (c *center) told() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for _, e := range c.events {
		all = append(all, e.Key.Name+": "+e.Message)
	}
	return strings.Join(all, "\n")
}

func (c *center) eventually(what string, is func() bool) {
	c.t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("not yet: %s; told: %s", what, c.told())
		}
	}
}

// client asks this center for whatever host, by TLS with the roots.
func (c *center) client(roots *x509.CertPool, http2 bool) *http.Client {
	t := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: http2, DisableCompression: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, c.at)
		}}
	c.t.Cleanup(t.CloseIdleConnections)
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// get asks by plain HTTP, by a connection of its own.
func (c *center) get(url string) (code int, body string) {
	return c.getBy(c.client(nil, false), url)
}

func (c *center) getBy(client *http.Client, url string) (code int, body string) {
	resp, err := client.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text)
}

// secret writes a certificate of a host into a Secret, and returns who trusts it.
func (c *center) secret(space, name string, hosts ...string) *x509.CertPool {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		c.t.Fatal(err)
	}
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62))
	template := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: hosts[0]}, DNSNames: hosts,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		c.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		c.t.Fatal(err)
	}
	encoded := func(kind string, der []byte) string {
		return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	c.put(store.Key{Space: space, Resource: "secrets", Namespace: "app", Name: name}, m{"type": "kubernetes.io/tls",
		"data": m{"tls.crt": encoded("CERTIFICATE", der), "tls.key": encoded("PRIVATE KEY", private)}})
	pool := x509.NewCertPool()
	is, _ := x509.ParseCertificate(der)
	pool.AddCert(is)
	return pool
}
