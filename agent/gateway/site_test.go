package gateway

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/store/storetest/leak"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/tunneltest"
	"skerry.dev/skerry/tunnel/upward"
)

func TestMain(m *testing.M) { leak.Main(m) }

const patience = 2 * time.Minute

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	storetest.Eventually(t, what, ok)
}

// parent issues tokens, and answers requests with what it was asked.
type parent struct {
	mu      sync.Mutex
	issued  int
	refuses bool // tokens
	denies  bool // requests
	cut     bool
	heard   []crossing
	child   tunnel.Conn
}

// crossing is a request of a pod that reached the parent.
type crossing struct {
	space, site, method, uri string
	header                   http.Header
}

func (p *parent) OpenStream(ctx context.Context) (tunnel.Stream, error) {
	p.mu.Lock()
	cut := p.cut
	p.mu.Unlock()
	if cut {
		return nil, errors.New("cut off")
	}
	return p.child.OpenStream(ctx)
}

func (p *parent) set(change func(*parent)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

func (p *parent) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.issued
}

// token is one that names its account, with a life from now on.
func token(who string, n int, life time.Duration) string {
	claims := fmt.Sprintf(`{"sub":%q,"jti":"%d","iat":%d,"exp":%d}`, who, n, time.Now().Unix(),
		time.Now().Add(life).Unix())
	return "h." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".s"
}

func (p *parent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	space, site, err := upward.Arrived(r.Header, "paris")
	if err != nil {
		upward.WriteFault(w, exchange.FaultOf(err))
		return
	}
	if r.URL.Path == "/watch" {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !upward.IsTokenRequest(r.Header) {
		p.heard = append(p.heard, crossing{space, site, r.Method, r.RequestURI, r.Header.Clone()})
		if p.denies {
			upward.WriteFault(w, &exchange.Fault{Code: http.StatusUnauthorized, Reason: "Unauthorized", Message: "no"})
			return
		}
		fmt.Fprintf(w, "%s %s %s %s", space, site, r.Method, r.URL.RequestURI())
		return
	}
	asked, err := upward.ReadTokenRequest(r.Body)
	if err != nil || p.refuses {
		upward.WriteFault(w, &exchange.Fault{Code: http.StatusForbidden, Reason: "Forbidden",
			Message: "no workload runs as that"})
		return
	}
	p.issued++
	upward.WriteToken(w, upward.Token{Token: token(space+"/"+asked.Namespace+"/"+asked.Account, p.issued, time.Hour),
		Expires: time.Now().Add(time.Hour)})
}

func newParent(t *testing.T) *parent {
	t.Helper()
	p := &parent{}
	p.child = tunneltest.ServeStreams(t, upward.Server{Handler: p})
	return p
}

// memory is an inventory's disk.
type memory struct{}

func (memory) Piggyback(func() bolt.Pending)                      {}
func (memory) Commit() error                                      { return nil }
func (memory) Each(func(store.Key, inventory.Record) error) error { return nil }

// site is a gateway over a small API, with its inventory.
type site struct {
	*Gateway
	api *targettest.Server
	dir string
}

func newSite(t *testing.T, dir string, api *targettest.Server, p *parent, address string) *site {
	t.Helper()
	inv, err := inventory.Open(memory{}, slog.New(slog.DiscardHandler))
	must(t, err)
	clients := target.NewClients(target.Cluster(api.Config()))
	t.Cleanup(clients.CloseIdle)
	g, err := New(Config{
		Dir: dir, Address: address, Clients: clients, Inventory: inv, Up: p, Metrics: NewMetrics(),
		Log:   slog.New(slog.DiscardHandler),
		As:    func(c *target.Client, _, _ string) *target.Client { return c },
		Owner: func() target.SpacesOwner { return target.SpacesOwner{Centers: []string{"c-1"}, Site: "paris"} },
	})
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		must(t, <-done)
	})
	return &site{g, api, dir}
}

var op = store.Key{Space: "shop", Group: "apps", Resource: "deployments", Namespace: "app", Name: "op"}

// provided has the credentials of an account kept, as a workload is applied that names it.
func (s *site) provided(t *testing.T, account string) error {
	t.Helper()
	err := s.Provide(t.Context(), op, "pre-app", account)
	if err != nil && strings.Contains(err.Error(), "no address yet") {
		if !s.api.Edit("cluster", "", "services", target.DefaultSpaces, target.GatewayService,
			map[string]any{"spec": map[string]any{"clusterIP": "10.96.0.7"}}) {
			t.Fatal("there is no Service")
		}
		err = s.Provide(t.Context(), op, "pre-app", account)
	}
	return err
}

// secret is what the Secret of an account has.
func (s *site) secret(t *testing.T, account string) map[string]string {
	t.Helper()
	o := s.api.Object("", "secrets", "pre-app", store.PodAPISecret(account))
	if o == nil {
		return nil
	}
	out := map[string]string{}
	for k, v := range o["data"].(map[string]any) {
		text, err := base64.StdEncoding.DecodeString(v.(string))
		must(t, err)
		out[k] = string(text)
	}
	return out
}

// ask sends a request as a pod does that has a Secret.
func (s *site) ask(t *testing.T, secret map[string]string, token string) (int, string) {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(secret[store.PodAPICA])) {
		t.Fatal("no certificate to trust")
	}
	s.mu.Lock()
	at := s.at
	s.mu.Unlock()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "10.96.0.7"},
		ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+at.String()+"/api/v1/pods?watch=0", nil)
	must(t, err)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := transport.RoundTrip(req)
	must(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp.StatusCode, string(body)
}

func newAPI(t *testing.T) *targettest.Server {
	api := targettest.New(t)
	api.Put("v1", "Namespace", "", "pre-app", nil)
	return api
}
