package streams

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/store/storetest/leak"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/pipe"
)

func TestMain(m *testing.M) { leak.Main(m) }

// sites opens streams to a site that answers every request in one way.
type sites struct{ answer exchange.Answer }

func (s sites) OpenStream(ctx context.Context, target string) (tunnel.Stream, error) {
	if s.answer == nil {
		return nil, &tunnel.Away{Target: target, Reason: "it has no session"}
	}
	down, up := pipe.New(pipe.Options{})
	stream, err := up.OpenStream(ctx)
	go func() {
		if child, err := down.AcceptStream(context.WithoutCancel(ctx)); err == nil {
			_ = exchange.Serve(context.WithoutCancel(ctx), child, s.answer)
			down.Close(nil)
		}
	}()
	return stream, err
}

func upgraded(conn io.ReadWriteCloser) exchange.Answer {
	return func(context.Context, *exchange.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: 101,
			Body:       conn,
			Header:     http.Header{"Connection": {"Upgrade"}, "Upgrade": {"SPDY/3.1"}},
		}, nil
	}
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

// center is a server whose every request is an exec at site oslo. It says with which code that
// began.
func center(
	t *testing.T,
	s sites,
	config func(*http.Request) *http.Request,
) (address string, began <-chan int, ended <-chan struct{}) {
	codes, done := make(chan int, 1), make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if config != nil {
			r = config(r)
		}
		New(
			Config{SpaceUID: uidOf, Targets: s},
		).Serve(w, r, "oslo", execOf(), func(_ string, code int) { codes <- code })
		done <- struct{}{}
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String(), codes, done
}

// dial sends a request to upgrade and returns the answer.
func dial(t *testing.T, address string) (net.Conn, *bufio.Reader, *http.Response) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_, _ = io.WriteString(
		conn,
		"POST / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\nearly",
	)
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	return conn, in, resp
}

func TestJoin(t *testing.T) {
	target, far := net.Pipe()
	address, codes, ended := center(t, sites{upgraded(target)}, nil)
	conn, in, resp := dial(t, address)
	if resp.StatusCode != 101 || <-codes != 101 || resp.Header.Get("Skerry-Site") != "" {
		t.Fatalf("%d, %v", resp.StatusCode, resp.Header)
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(far, got); err != nil || string(got) != "early" {
		t.Errorf("%q, %v", got, err)
	}
	go func() {
		_, _ = io.WriteString(far, "last words")
		far.Close()
	}()
	if last, err := io.ReadAll(in); err != nil || string(last) != "last words" {
		t.Errorf("%q, %v", last, err)
	}
	<-ended
	conn.Close()
}

// TestEnds: the target's connection ends with the client, and with the context of its request.
func TestEnds(t *testing.T) {
	for name, end := range map[string]func(net.Conn, func()){
		"the client goes":   func(c net.Conn, _ func()) { c.Close() },
		"the center drains": func(_ net.Conn, drain func()) { drain() },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			target, far := net.Pipe()
			address, _, ended := center(
				t,
				sites{upgraded(target)},
				func(r *http.Request) *http.Request { return r.WithContext(ctx) },
			)
			conn, _, _ := dial(t, address)
			_, _ = io.ReadFull(far, make([]byte, 5))
			end(conn, cancel)
			<-ended
			if _, err := far.Read(make([]byte, 1)); err == nil {
				t.Error("the target's connection is still open")
			}
		})
	}
}

// TestRefusals: what the site answers instead passes, so that kubectl falls back to SPDY or says
// why.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		s    sites
		code int
		says string
	}{
		"refused by the site": {sites{func(context.Context, *exchange.Request) (*http.Response, error) {
			return nil, &exchange.Fault{Code: 403, Reason: "Forbidden", Message: "site oslo does not allow this"}
		}}, 403, "site oslo does not allow this"},
		"away": {sites{}, 503, "oslo cannot be reached: it has no session"},
		"no upgrade": {sites{func(context.Context, *exchange.Request) (*http.Response,
			error) {
			return ok("hello"), nil
		}}, 200, "hello"},
		"another upgrade": {sites{upgradedTo("h2c")}, 502, "not asked for"},
	} {
		t.Run(name, func(t *testing.T) {
			address, codes, ended := center(t, c.s, nil)
			_, _, resp := dial(t, address)
			body, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != c.code || <-codes != c.code ||
				!strings.Contains(string(body), c.says) {
				t.Errorf("%d %s", resp.StatusCode, body)
			}
			if c.code == 503 && resp.Header.Get("Retry-After") == "" {
				t.Error("it does not say when to ask again")
			}
			<-ended
		})
	}
}

func upgradedTo(what string) exchange.Answer {
	return func(context.Context, *exchange.Request) (*http.Response, error) {
		target, _ := net.Pipe()
		return &http.Response{
			StatusCode: 101,
			Body:       target,
			Header:     http.Header{"Connection": {"Upgrade"}, "Upgrade": {what}},
		}, nil
	}
}

func ok(text string) *http.Response {
	return &http.Response{
		StatusCode:    200,
		Header:        http.Header{},
		ContentLength: -1,
		Body:          io.NopCloser(strings.NewReader(text)),
	}
}

// TestHTTP2: a connection that carries other requests is not taken over.
func TestHTTP2(t *testing.T) {
	target, _ := net.Pipe()
	w := httptest.NewRecorder()
	New(
		Config{SpaceUID: uidOf, Targets: sites{upgraded(target)}},
	).Serve(w, httptest.NewRequest("POST", "/", nil), "oslo", execOf(), func(string, int) {})
	if w.Code != 400 || !strings.Contains(w.Body.String(), "HTTP/1.1") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestStandBy: a replica without sessions asks nobody, and says who has them.
func TestStandBy(t *testing.T) {
	why := &exchange.Fault{Code: 503, Message: "ask the leader"}
	s := New(
		Config{SpaceUID: uidOf, Targets: sites{func(context.Context, *exchange.Request) (*http.Response, error) {
			t.Error("a site was asked")
			return ok(""), nil
		}}, Leads: func() error { return why }},
	)
	if _, err := s.Do(t.Context(), "oslo", logOf()); !errors.Is(err, why) {
		t.Error(err)
	}
	passed := 0
	s.Pass = func(_ context.Context, target string, _ *exchange.Request) (*http.Response, error) {
		passed++
		return ok("of " + target), nil
	}
	resp, err := s.Do(t.Context(), "oslo", logOf())
	if err != nil || passed != 1 {
		t.Fatalf("passed on %d times: %v", passed, err)
	}
	resp.Body.Close()
	if _, err := s.Here(t.Context(), "oslo", logOf()); !errors.Is(err, why) || passed != 1 {
		t.Errorf("what was passed on is passed on again: %v", err)
	}
}

// TestLeader: what leads passes nothing on.
func TestLeader(t *testing.T) {
	s := New(Config{
		SpaceUID: uidOf,
		Targets:  sites{func(context.Context, *exchange.Request) (*http.Response, error) { return ok("here"), nil }},
		Leads:    func() error { return nil },
		Pass: func(context.Context, string, *exchange.Request) (*http.Response, error) {
			t.Error("passed on")
			return ok(""), nil
		},
	})
	resp, err := s.Do(t.Context(), "oslo", logOf())
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(resp.Body); string(text) != "here" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	resp.Body.Close()
}

// uidOf is the UID of every space but gone.
func uidOf(space string) string {
	if space == "gone" {
		return ""
	}
	return "uid-" + space
}

func logOf() *exchange.Request {
	return &exchange.Request{
		Space:     "shop",
		Namespace: "web",
		Pod:       "app-1",
		UID:       "u-1",
		Verb:      exchange.Log,
	}
}

// TestSpaceUID: what leaves says which space it is of, whatever came in, and nothing leaves for a
// space that is not there.
func TestSpaceUID(t *testing.T) {
	asked := ""
	s := New(Config{SpaceUID: uidOf, Targets: sites{
		func(_ context.Context, r *exchange.Request) (*http.Response, error) {
			asked = r.SpaceUID
			return ok("here"), nil
		},
	}})
	r := logOf()
	r.SpaceUID = "of-the-parent"
	resp, err := s.Do(t.Context(), "oslo", r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || asked != "uid-shop" {
		t.Errorf("asked for %q: %v", asked, err)
	}
	resp.Body.Close()
	asked, r.Space = "", "gone"
	if _, err := s.Do(t.Context(), "oslo", r); exchange.FaultOf(err).Code != 404 || asked != "" {
		t.Errorf("a space that is not there asks for %q: %v", asked, err)
	}
}

// TestStalledClient: a client that reads nothing keeps nothing open when the center ends.
func TestStalledClient(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	target, far := net.Pipe()
	address, _, ended := center(t, sites{upgraded(target)},
		func(r *http.Request) *http.Request { return r.WithContext(ctx) })
	dial(t, address)
	_, _ = io.ReadFull(far, make([]byte, 5))
	_ = far.SetWriteDeadline(time.Now().Add(time.Second))
	for block := make([]byte, 1<<20); ; {
		if _, err := far.Write(block); err != nil {
			break // every buffer on the way is full
		}
	}
	cancel()
	<-ended
}
