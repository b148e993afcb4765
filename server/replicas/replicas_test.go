package replicas

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/store/storetest/leak"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/tunneltest"
)

func TestMain(m *testing.M) { leak.Main(m) }

// replica is one that runs.
type replica struct {
	*Replicas
	address string
	client  *tls.Config
	server  *tls.Config
}

// start runs a replica that carries out what is passed on as here says, and passes on to leader.
func start(t *testing.T, leader string, here Do) *replica {
	t.Helper()
	authority := tunneltest.NewAuthority(t, "server")
	cert := authority.Issue(t, &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	server := &tls.Config{
		Certificates: []tls.Certificate{cert},
		NextProtos:   []string{tunnel.ReplicaALPN},
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", server)
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{
		address: l.Addr().String(),
		server:  server,
		client:  &tls.Config{RootCAs: authority.Pool(), NextProtos: []string{tunnel.ReplicaALPN}},
	}
	r.Replicas = New(
		Config{
			Listener: l,
			TLS:      func() *tls.Config { return r.client },
			Leader:   func() string { return leader },
			Here:     here,
			Log:      slog.New(slog.DiscardHandler),
		},
	)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if n := r.taken.Load(); n != 0 {
			t.Errorf("%d requests are still counted", n)
		}
		if n := r.budget.Used(); n != 0 {
			t.Errorf("%d bytes of windows are still taken", n)
		}
	})
	return r
}

// idle waits until nothing that was passed on is counted any more.
func (r *replica) idle(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); r.passed.Load() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%d passed requests are still counted", r.passed.Load())
			return
		}
	}
}

// follower returns one that stands by, beside a leader.
func follower(t *testing.T, leader *replica) *replica {
	t.Helper()
	f := start(t, leader.address, nobody(t))
	f.client = leader.client
	t.Cleanup(func() { f.idle(t) })
	return f
}

func nobody(t *testing.T) Do {
	return func(context.Context, string, *exchange.Request) (*http.Response, error) {
		t.Error("it was asked")
		return nil, errors.New("nobody")
	}
}

func logOf() *exchange.Request {
	r := &exchange.Request{
		Space:     "shop",
		Namespace: "web",
		Pod:       "app-1",
		UID:       "u-1",
		Verb:      exchange.Log,
		User:      "vera",
		Groups:    []string{"dev"},
	}
	r.Query = map[string][]string{"follow": {"true"}}
	return r
}

func execOf() *exchange.Request {
	return &exchange.Request{
		Space:     "shop",
		Namespace: "web",
		Pod:       "app-1",
		UID:       "u-1",
		Verb:      exchange.Exec,
		Upgrade:   http.Header{"Connection": {"Upgrade"}, "Upgrade": {"SPDY/3.1"}},
	}
}

func answer(code int, body io.ReadCloser) *http.Response {
	return &http.Response{
		StatusCode:    code,
		Header:        http.Header{exchange.HeaderSite: {"oslo/dock"}},
		ContentLength: -1,
		Body:          body,
	}
}

// TestLog: the leader is asked for what the other one was asked for, at the target, and its answer
// comes back whole, with the way that it came.
func TestLog(t *testing.T) {
	text := strings.Repeat("a line of a log\n", 100_000)
	leader := start(
		t,
		"",
		func(_ context.Context, target string, r *exchange.Request) (*http.Response, error) {
			if target != "oslo" || r.Pod != "app-1" || r.User != "vera" || r.Groups[0] != "dev" ||
				r.Query.Get("follow") != "true" ||
				len(r.Path) != 0 {
				t.Errorf("%s: %+v", target, r)
			}
			return answer(200, io.NopCloser(strings.NewReader(text))), nil
		},
	)
	f := follower(t, leader)
	asked := logOf()
	resp, err := f.Do(t.Context(), "oslo", asked)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(resp.Body)
	if err != nil || string(got) != text || resp.Header.Get(exchange.HeaderSite) != "oslo/dock" {
		t.Errorf("%d bytes, %v, %v", len(got), err, resp.Header)
	}
	if resp.Body.Close(); len(asked.Path) != 0 {
		t.Error("the request was changed")
	}
}

// TestExec: an upgraded connection carries both directions; each side's end is the other one's.
func TestExec(t *testing.T) { upgrades(t, execOf()) }

// TestConnect: a webhook is called through a replica that stands by.
func TestConnect(t *testing.T) {
	r := execOf()
	r.Verb, r.Upgrade = exchange.Connect, exchange.Bytes()
	r.Query = map[string][]string{exchange.OptionPort: {"8443"}}
	upgrades(t, r)
}

func upgrades(t *testing.T, r *exchange.Request) {
	for name, end := range map[string]func(client io.Closer, site net.Conn){
		"the client ends": func(c io.Closer, _ net.Conn) { c.Close() },
		"the site ends":   func(_ io.Closer, s net.Conn) { s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			near, site := net.Pipe()
			leader := start(
				t,
				"",
				func(context.Context, string, *exchange.Request) (*http.Response, error) {
					resp := answer(101, near)
					resp.Header.Set("Connection", "Upgrade")
					resp.Header.Set("Upgrade", r.Upgrade.Get("Upgrade"))
					return resp, nil
				},
			)
			resp, err := follower(t, leader).Do(t.Context(), "oslo", r)
			if err != nil || resp.StatusCode != 101 {
				t.Fatal(resp, err)
			}
			client := resp.Body.(io.ReadWriteCloser)
			block := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
			go func() { _, _ = io.CopyN(site, site, int64(len(block))) }()
			go func() { _, _ = client.Write(block) }()
			got := make([]byte, len(block))
			if _, err := io.ReadFull(client, got); err != nil || !bytes.Equal(got, block) {
				t.Errorf("what came back is other: %v", err)
			}
			end(client, site)
			if n, err := io.Copy(io.Discard, client); n != 0 {
				t.Errorf("%d bytes after the end, %v", n, err)
			}
			if _, err := site.Read(make([]byte, 1)); err == nil {
				t.Error("the site's end is still open")
			}
			client.Close()
		})
	}
}

// TestGoes: when the client of a log goes, so does the leader's request.
func TestGoes(t *testing.T) {
	gone := make(chan struct{})
	leader := start(
		t,
		"",
		func(ctx context.Context, _ string, _ *exchange.Request) (*http.Response, error) {
			r, w := io.Pipe()
			context.AfterFunc(ctx, func() { w.Close(); close(gone) })
			go func() { _, _ = w.Write([]byte("first\n")) }()
			return answer(200, r), nil
		},
	)
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := follower(t, leader).Do(ctx, "oslo", logOf())
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(resp.Body).ReadString('\n'); line != "first\n" {
		t.Fatal(line, err)
	}
	cancel()
	select {
	case <-gone:
	case <-time.After(20 * time.Second):
		t.Error("the leader still asks the site")
	}
	resp.Body.Close()
}
