package server

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"skerry.dev/skerry/server/listen"
	"skerry.dev/skerry/server/pki"
	"skerry.dev/skerry/server/replicas"
	"skerry.dev/skerry/server/streams"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest/leak"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/pipe"
)

// partsOfReplica are the parts of a replica by which requests for Pods cross, around one set of
// keys, wired as server.go wires them.
type partsOfReplica struct {
	lead    *leadership
	sites   *streams.Streams
	address string
}

// onlySite has one site, oslo, whose log is one line.
type onlySite struct{ asked *atomic.Int64 }

func (s onlySite) OpenStream(ctx context.Context, target string) (tunnel.Stream, error) {
	if target != "oslo" {
		return nil, &tunnel.Away{Target: target, Reason: "it has no session"}
	}
	s.asked.Add(1)
	down, up := pipe.New(pipe.Options{})
	stream, err := up.OpenStream(ctx)
	go func() {
		if child, err := down.AcceptStream(context.WithoutCancel(ctx)); err == nil {
			_ = exchange.Serve(
				context.WithoutCancel(ctx),
				child,
				func(context.Context, *exchange.Request) (*http.Response, error) {
					return &http.Response{
						StatusCode:    200,
						Header:        http.Header{},
						ContentLength: -1,
						Body:          io.NopCloser(strings.NewReader("a line\n")),
					}, nil
				},
			)
			down.Close(nil)
		}
	}()
	return stream, err
}

func startParts(
	t *testing.T,
	keys *pki.PKI,
	center store.Incarnation,
	targets tunnel.StreamOpener,
) *partsOfReplica {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address, err := replicaAddress("", tcp.Addr())
	if err != nil {
		t.Fatal(err)
	}
	p := &partsOfReplica{
		address: address,
		lead:    newLeadership(replicaIdentity("https://center.example:7443", address), nil, quiet),
	}
	identity := keys.Replica(center)
	refuse := func() *tls.Config {
		return &tls.Config{
			GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return nil, errClosed },
		}
	}
	port := listen.New(
		listen.Config{
			Listener: tcp,
			API:      refuse,
			Agents:   refuse,
			Replicas: identity.Server,
			Log:      quiet,
		},
	)
	leads := (&Server{lead: p.lead}).leads
	var passing *replicas.Replicas
	p.sites = streams.New(streams.Config{Targets: targets, Leads: leads,
		SpaceUID: func(space string) string { return "uid-" + space },
		Pass: func(ctx context.Context, target string, r *exchange.Request) (*http.Response, error) {
			return passing.Do(ctx, target, r)
		}})
	passing = replicas.New(
		replicas.Config{
			Listener: port.Replicas(),
			TLS:      identity.Client,
			Leader:   p.lead.address,
			Here:     p.sites.Here,
			Log:      quiet,
		},
	)
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = port.Run(ctx) })
	all.Go(func() { _ = passing.Run(ctx) })
	t.Cleanup(func() { cancel(); all.Wait() })
	return p
}

// follows makes a replica know who leads; until is how long it leads itself.
func (p *partsOfReplica) follows(leader *partsOfReplica, until time.Duration) {
	p.lead.leader.Store(&leader.lead.identity)
	p.lead.until.Store(int64(p.lead.now() + until))
}

func logOfPod() *exchange.Request {
	return &exchange.Request{
		Space:     "shop",
		Namespace: "web",
		Pod:       "app-1",
		UID:       "u-1",
		Verb:      exchange.Log,
	}
}

// told is what a client hears: the code and the text.
func (p *partsOfReplica) told(t *testing.T, target string) (int, string, string) {
	t.Helper()
	resp, err := p.sites.Do(t.Context(), target, logOfPod())
	if err != nil {
		resp = exchange.FaultOf(err).Response()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, string(text), resp.Header.Get("Retry-After")
}

// TestPassedToTheLeader: a request that lands on a replica that stands by is carried out by the one
// that leads; nobody but a replica gets one through; none goes in a circle.
func TestPassedToTheLeader(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { leak.None(t, before) }) // after the parts have ended
	dir := filepath.Join(t.TempDir(), "pki")
	quiet := slog.New(slog.DiscardHandler)
	keys, err := pki.Load(pki.Options{Dir: dir, New: true, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	center := store.NewIncarnation()
	var asked, wrong atomic.Int64
	leader := startParts(t, keys, center, onlySite{&asked})
	standby := startParts(t, keys, center, onlySite{&wrong})
	leader.follows(leader, time.Hour)
	standby.follows(leader, 0)

	if code, text, _ := standby.told(t, "oslo"); code != 200 || text != "a line\n" ||
		asked.Load() != 1 {
		t.Fatalf("%d %s", code, text)
	}
	if code, text, again := standby.told(t, "paris"); code != 503 || again == "" ||
		!strings.Contains(text, "site paris cannot be reached") {
		t.Errorf("a target that is away: %d %s", code, text)
	}
	if code, _, _ := standby.told(t, "../oslo"); code != 400 {
		t.Errorf("a forged target: %d", code)
	}

	asked.Store(0)
	hostile(t, keys, leader.address)

	// The one that led is deposed, and does not pass on what was passed to it.
	leader.follows(standby, 0)
	if code, text, again := standby.told(t, "oslo"); code != 503 || again == "" ||
		!strings.Contains(text, "stands by") {
		t.Errorf("two that stand by: %d %s", code, text)
	}
	leader.follows(leader, 0) // and knows of no other
	if code, text, again := leader.told(t, "oslo"); code != 503 || again == "" ||
		!strings.Contains(text, "no replica") {
		t.Errorf("it passes to itself: %d %s", code, text)
	}
	if asked.Load() != 0 || wrong.Load() != 0 {
		t.Errorf("a site was asked: %d, %d", asked.Load(), wrong.Load())
	}
}

// hostile has everybody who is no replica try to have a request carried out.
func hostile(t *testing.T, keys *pki.PKI, address string) {
	t.Helper()
	person, key, err := keys.ClientCertificate("root", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	cert, err := tls.X509KeyPair(person, key)
	if err != nil {
		t.Fatal(err)
	}
	serving, err := keys.Serving("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	own, err := serving.Certificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	other := keys.Replica(store.NewIncarnation()).Client()
	for name, c := range map[string]*tls.Config{
		"nobody":               {},
		"a person":             {Certificates: []tls.Certificate{cert}},
		"the center as server": {Certificates: []tls.Certificate{*own}},
		"another center":       other,
		"another protocol":     {Certificates: []tls.Certificate{*own}, NextProtos: []string{"http/1.1"}},
	} {
		c.InsecureSkipVerify = true
		c.VerifyConnection = nil
		if c.NextProtos == nil {
			c.NextProtos = []string{tunnel.ReplicaALPN}
		}
		conn, err := tls.Dial("tcp", address, c)
		if err != nil {
			continue
		}
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		_, _ = io.WriteString(
			conn,
			"POST /shop/web/app-1/log HTTP/1.1\r\nHost: target\r\nSkerry-Uid: u-1\r\n"+
				"Skerry-Path: oslo\r\nContent-Length: 0\r\n\r\n",
		)
		if answer, err := io.ReadAll(conn); len(answer) > 0 || err == nil {
			t.Errorf("%s: %q, %v", name, answer, err)
		}
		conn.Close()
	}
}
