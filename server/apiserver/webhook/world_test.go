package webhook

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/apiserver/outbound"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/store/storetest/leak"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/tunneltest"
)

func TestMain(m *testing.M) { leak.Main(m) }

// sites are targets with Pods that serve webhooks. They implement Sites, Services and the round
// trips to them.
type sites struct {
	t *testing.T

	mu     sync.Mutex
	pods   map[string]*pod // TARGET/POD
	behind map[Service][]Backend
	none   map[Service]*NoBackend
	rtt    map[string]time.Duration
	faults map[string]*exchange.Fault // TARGET
	silent map[string]bool
	mute   map[string]bool // whose Pods take connections and say nothing
	asked  []exchange.Request

	room    int // how many connections there may be; below zero without an end
	open    int
	refused int // connections, because of room
}

type pod struct {
	server *httptest.Server
	at     *tunneltest.Memory
	calls  []string // paths
	dials  int
}

// inBubble runs a test in simulated time, beside others.
func inBubble(t *testing.T, run func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	now := time.Now().Round(0)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(now)) // the certificates are not valid before
		run(t)
	})
}

func newSites(t *testing.T) *sites {
	return &sites{
		t: t, room: -1, pods: map[string]*pod{}, behind: map[Service][]Backend{},
		none: map[Service]*NoBackend{}, rtt: map[string]time.Duration{},
		faults: map[string]*exchange.Fault{}, silent: map[string]bool{}, mute: map[string]bool{},
	}
}

// Do implements Sites.
func (s *sites) Do(ctx context.Context, target string, r *exchange.Request) (*http.Response, error) {
	if err := r.Check(); err != nil {
		s.t.Error(err)
	}
	s.mu.Lock()
	s.asked = append(s.asked, *r)
	fault, silent, p := s.faults[target], s.silent[target], s.pods[target+"/"+r.Pod]
	mute := s.mute[target]
	if p != nil && fault == nil && !silent {
		p.dials++
	}
	full := s.room >= 0 && s.open >= s.room
	if full {
		s.refused++
	}
	s.mu.Unlock()
	switch {
	case full:
		return nil, &exchange.Fault{Code: 429, Message: "no more may be open"}
	case silent:
		<-ctx.Done()
		return nil, context.Cause(ctx)
	case fault != nil:
		return nil, fault
	case p == nil:
		return (&exchange.Fault{Code: 404, Reason: "NotFound", Message: "the site has no such pod"}).Response(), nil
	}
	if mute {
		near, far := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, far) }()
		return &http.Response{StatusCode: 101, Body: near, Header: http.Header{}}, nil
	}
	conn, err := p.at.DialContext(ctx, "", "")
	if err != nil {
		near, far := net.Pipe() // as a port that nobody listens at
		far.Close()
		conn = near
	}
	s.mu.Lock()
	s.open++
	s.mu.Unlock()
	return &http.Response{
		StatusCode: 101, Body: &countedConn{Conn: conn, s: s},
		Header: http.Header{exchange.HeaderSite: {target + "/below"}},
	}, nil
}

type countedConn struct {
	net.Conn
	s    *sites
	once sync.Once
}

func (c *countedConn) Close() error {
	c.once.Do(func() {
		c.s.mu.Lock()
		c.s.open--
		c.s.mu.Unlock()
	})
	return c.Conn.Close()
}

// Behind implements Services.
func (s *sites) Behind(_ context.Context, of Service) ([]Backend, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if none := s.none[of]; none != nil {
		return nil, none
	}
	if all := s.behind[of]; len(all) > 0 {
		return all, nil
	}
	return nil, &NoBackend{Name: of.Name, Why: "nobody"}
}

// RTT is that of a target which is connected.
func (s *sites) RTT(target string) (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rtt, ok := s.rtt[target]
	return rtt, ok
}

// runs has a Pod of a Service run at a target, with an answer to each call.
func (s *sites) runs(of Service, target, name string, rtt time.Duration, h http.HandlerFunc) Backend {
	return s.runsWith(of, target, name, rtt, serving(s.t, of.Name+"."+of.Namespace+".svc"), h)
}

func (s *sites) runsWith(
	of Service, target, name string, rtt time.Duration, cert tls.Certificate, h http.HandlerFunc,
) Backend {
	p := &pod{at: tunneltest.NewMemory()}
	p.server = httptest.NewUnstartedServer(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			s.mu.Lock()
			p.calls = append(p.calls, r.URL.Path)
			s.mu.Unlock()
			if r.Header.Get("Authorization") != "" || len(r.TLS.PeerCertificates) > 0 {
				s.t.Error("the center shows credentials to a webhook")
			}
			h(w, r)
		}))
	p.server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	p.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	p.server.Listener.Close()
	p.server.Listener = p.at
	p.server.StartTLS()
	s.t.Cleanup(p.server.Close)
	b := Backend{
		Place: exchange.Place{Target: target, Pod: name, UID: "u-" + name}, Pod: name, Port: 8443,
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pods[target+"/"+name] = p
	s.behind[of] = append(s.behind[of], b)
	s.rtt[target] = rtt
	return b
}

func (s *sites) calls(target, name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pods[target+"/"+name].calls)
}

// refusals is how many connections were refused because there was no room.
func (s *sites) refusals() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// until waits for a condition.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	storetest.Eventually(t, what, is)
}

func (s *sites) dials(target, name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pods[target+"/"+name].dials
}

func (s *sites) callers() *Callers {
	c := New(Config{
		Outbound: outbound.New(nil, nil), Services: s, Sites: s, RTT: s.RTT, Metrics: NewMetrics(),
	})
	s.t.Cleanup(c.Close)
	return c
}

// authority signs the certificates of all webhooks; bundle is what configurations trust.
var authority, bundle = newAuthority("webhooks")

type signer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(name string) (*signer, []byte) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	is := template(name)
	is.IsCA, is.BasicConstraintsValid, is.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, is, is, key.Public(), key)
	if err != nil {
		panic(err)
	}
	return &signer{is, key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func template(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
}

// serving is a certificate for a name.
func serving(t *testing.T, name string) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template(name), authority.cert, key.Public(), authority.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// client is what upstream makes of a configuration of a space, each time anew.
func client(t *testing.T, c *Callers, of Service, path string, ca []byte) *rest.RESTClient {
	t.Helper()
	return upstream(t, c, c.For(of.Space), of, path, ca)
}

func upstream(
	t *testing.T, c *Callers, as webhook.AuthenticationInfoResolverWrapper, of Service, path string, ca []byte,
) *rest.RESTClient {
	t.Helper()
	m, err := webhook.NewClientManager(
		[]schema.GroupVersion{admissionv1.SchemeGroupVersion}, admissionv1.AddToScheme,
	)
	if err != nil {
		t.Fatal(err)
	}
	m.SetAuthenticationInfoResolverWrapper(as)
	m.SetServiceResolver(c.Resolver())
	if err := m.Validate(); err != nil {
		t.Fatal(err)
	}
	made, err := m.HookClient(webhook.ClientConfig{
		Name: "hook", CABundle: ca,
		Service: &webhook.ClientConfigService{Name: of.Name, Namespace: of.Namespace, Path: path, Port: of.Port},
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// call asks a webhook as upstream does, and returns the body of its answer.
func call(ctx context.Context, c *rest.RESTClient, body string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	text, err := c.Post().Body([]byte(body)).Do(ctx).Raw()
	return string(text), err
}

// says answers with a word.
func says(word string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, word+" "+strconv.Itoa(len(body)))
	}
}
