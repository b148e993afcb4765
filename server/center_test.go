package server_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/apiserver"
	"skerry.dev/skerry/server/apiserver/admission"
	apirequest "skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/listen"
	"skerry.dev/skerry/server/space"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/kine"
	"skerry.dev/skerry/store/storetest/leak"
	"skerry.dev/skerry/tunnel/metrics"
	"skerry.dev/skerry/tunnel/tunneltest"
)

var (
	spacesGVR      = schema.GroupVersionResource{Group: "skerry.dev", Version: "v1alpha1", Resource: "spaces"}
	syncTargetsGVR = schema.GroupVersionResource{Group: "skerry.dev", Version: "v1alpha1", Resource: "synctargets"}
	placementsGVR  = schema.GroupVersionResource{Group: "skerry.dev", Version: "v1alpha1", Resource: "placements"}
	crdsGVR        = schema.GroupVersionResource{
		Group:    "apiextensions.k8s.io",
		Version:  "v1",
		Resource: "customresourcedefinitions",
	}
)

// authority signs the certificates of a test. It outlives restarts of the center.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	sa   *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{key: newKey(t), sa: newKey(t)}
	tmpl := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "test"},
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &a.key.PublicKey, a.key)
	must(t, err)
	a.cert, err = x509.ParseCertificate(der)
	must(t, err)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	return k
}

func (a *authority) issue(t *testing.T, cn string, groups ...string) tls.Certificate {
	t.Helper()
	k := newKey(t)
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: cn, Organization: groups},
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1), tunneltest.Loopback()},
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, &k.PublicKey, a.key)
	must(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: k}
}

func (a *authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

// center is a running API with its spaces.
type center struct {
	t     *testing.T
	ca    *authority
	url   string
	store *kine.Store
	api   *apiserver.Server
	stop  func()
	busy  bool // goroutines of the test itself run while it stops, so that leaks cannot be told
}

// counting has what counts objects, and learns what targets offer, follow the center's changes until
// stop, which waits for its end. The context ends then.
func (c *center) counting(t *testing.T) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var changes errgroup.Group
	for _, handler := range c.api.Counters() {
		changes.Go(func() error { return c.api.Changes(ctx, handler) })
	}
	return ctx, func() { cancel(); _ = changes.Wait() }
}

// start runs a center on dir. It ends with stop, or with the test; then no goroutine may be left.
func start(
	t *testing.T,
	dir string,
	ca *authority,
	place admission.PlaceFunc,
	more ...func(*apiserver.Config),
) *center {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	return startOn(t, l, dir, ca, place, more...)
}

// startOn is start with a listener of the caller's.
func startOn(
	t *testing.T,
	l net.Listener,
	dir string,
	ca *authority,
	place admission.PlaceFunc,
	more ...func(*apiserver.Config),
) *center {
	t.Helper()
	st, err := kine.Open(
		t.Context(),
		kine.Config{Dir: dir, Progress: 2 * time.Second},
	) // watches of seconds have bookmarks, too
	must(t, err)
	return startStored(t, l, st, ca, place, more...)
}

// startStored is startOn with a datastore that is open, which the center closes.
func startStored(
	t *testing.T,
	l net.Listener,
	st *kine.Store,
	ca *authority,
	place admission.PlaceFunc,
	more ...func(*apiserver.Config),
) *center {
	t.Helper()
	before := goleak.IgnoreCurrent()
	// The library of the audit log keeps a goroutine for old files as long as the process lives.
	files := goleak.IgnoreAnyFunction("gopkg.in/natefinch/lumberjack%2ev2.(*Logger).millRun")
	// A read that waited for the cache leaves a timer of three seconds behind.
	timer := goleak.IgnoreAnyFunction("k8s.io/apiserver/pkg/storage/cacher.(*watchCache).waitUntilFreshAndBlock.func2")
	c := &center{t: t, ca: ca, url: "https://" + l.Addr().String(), store: st}
	port := listen.New(
		listen.Config{
			Listener: l,
			API:      func() *tls.Config { return c.api.TLSConfig() },
			Log:      slog.New(slog.DiscardHandler),
		},
	)
	set := space.NewSet()
	config := apiserver.Config{
		Store: st, Listener: port.API(), TLS: &tls.Config{
			Certificates: []tls.Certificate{ca.issue(t, "server")},
		}, ClientCAs: ca.pool,
		ServiceAccountKey: ca.sa, ExternalURL: "https://center.test", Spaces: set, Place: place,
		Metrics: metrics.New(metrics.Build{}).Handler(apiserver.Gatherer()),
		Routes: map[string]http.Handler{
			"/enroll/v1": http.HandlerFunc(
				func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) },
			),
		},
	}
	for _, set := range more {
		set(&config)
	}
	var err error
	c.api, err = apiserver.New(config)
	must(t, err)
	spaces := space.New(space.Config{Set: set, Loopback: c.api.Loopback, Content: c.api,
		URL: func(s string) string { return apirequest.URL(c.url, s) }})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var all sync.WaitGroup
	all.Go(func() { check(t, c.api.Run(ctx)) })
	all.Go(func() { check(t, port.Run(ctx)) })
	var once sync.Once
	c.stop = func() {
		once.Do(func() {
			cancel()
			all.Wait()
			check(t, st.Close())
			if !c.busy {
				leak.None(t, before, timer, files)
			}
		})
	}
	t.Cleanup(c.stop)
	within(t, time.Minute, "API ready", func() bool { return closed(c.api.Ready()) })
	all.Go(func() { check(t, spaces.Run(ctx)) })
	within(t, time.Minute, "spaces ready", func() bool { return closed(spaces.Ready()) })
	return c
}

// as returns the configuration of a user with a client certificate, in a space.
func (c *center) as(space, user string, groups ...string) *rest.Config {
	cert := c.ca.issue(c.t, user, groups...)
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	must(c.t, err)
	return &rest.Config{Host: apirequest.URL(c.url, space), QPS: -1, TLSClientConfig: rest.TLSClientConfig{
		CAData:   pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.ca.cert.Raw}),
		CertData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]}),
		KeyData:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
	}}
}

func (c *center) admin(space string) *rest.Config { return c.as(space, "admin", "system:masters") }

func (c *center) createSpace(name, policy string) {
	c.t.Helper()
	obj := object("skerry.dev/v1alpha1", "Space", "", name)
	must(c.t, unstructured.SetNestedField(obj.Object, policy, "spec", "deletionPolicy"))
	_, err := dyn(c.t, c.admin("root")).Resource(spacesGVR).Create(c.t.Context(), obj, metav1.CreateOptions{})
	must(c.t, err)
	within(c.t, time.Minute, "space "+name, func() bool {
		obj, err := dyn(c.t, c.admin("root")).Resource(spacesGVR).Get(c.t.Context(), name, metav1.GetOptions{})
		must(c.t, err)
		conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
		return slices.ContainsFunc(conditions, func(x any) bool {
			condition := x.(map[string]any)
			return condition["type"] == "Ready" && condition["status"] == "True"
		})
	})
}

func object(apiVersion, kind, ns, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	u.SetName(name)
	u.SetNamespace(ns)
	return u
}

func dyn(t *testing.T, c *rest.Config) dynamic.Interface {
	t.Helper()
	d, err := dynamic.NewForConfig(c)
	must(t, err)
	return d
}

func clients(t *testing.T, c *rest.Config) *kubernetes.Clientset {
	t.Helper()
	k, err := kubernetes.NewForConfig(c)
	must(t, err)
	return k
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func within(t *testing.T, d time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(d)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, d)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func webKey(space string) store.Key {
	return store.Key{Space: space, Group: "apps", Resource: "deployments", Namespace: "default", Name: "web"}
}
