package exchange

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
)

func TestRequestSurvives(t *testing.T) {
	r := execOf("sh", "-c", "echo 'a b' & é\r\nX: y")
	r.Path, r.Timeout = []string{"oslo", "edge.1"}, 1500*time.Millisecond
	r.Identify("jürgen\r\nImpersonate-User: root", []string{"dev ops", "a,b"})
	debug := &Request{
		Space:     "shop",
		Namespace: "web",
		Pod:       "app-1",
		Origin:    "o-1",
		Verb:      Debug,
		Body:      []byte(`[{"name":"d"}]`),
	}
	list := &Request{
		Space: "shop", SpaceUID: "s-1", Namespace: "web", Verb: View, Path: []string{"oslo"},
		Query: url.Values{OptionVersion: {"v1"}, OptionResource: {"pods"}, "labelSelector": {"a in (b, c)"}},
	}
	all := &Request{
		Space: "shop", Verb: View,
		Query: url.Values{OptionVersion: {"v1"}, OptionResource: {"pods"}, OptionAmong: {"web", "db"}},
	}
	for _, r := range []*Request{r, debug, list, all} {
		text, err := r.encode()
		if err != nil {
			t.Fatal(err)
		}
		got, rest, err := Read(strings.NewReader(string(text) + "more"))
		if err != nil {
			t.Fatal(err)
		}
		if r.Query == nil {
			r.Query = got.Query
		}
		if !reflect.DeepEqual(got, r) {
			t.Errorf("%+v\nbecame %+v", r, got)
		}
		if left, _ := io.ReadAll(rest); string(left) != "more" {
			t.Errorf("%q is left", left)
		}
	}
}

// serve answers one request at the far end, and returns a channel with how that ended.
func serve(ctx context.Context, child tunnel.Stream, answer Answer) <-chan error {
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, child, answer) }()
	return done
}

func text(code int, body io.ReadCloser, length int64) *http.Response {
	return &http.Response{
		StatusCode:    code,
		Header:        http.Header{"Content-Type": {"text/plain"}},
		Body:          body,
		ContentLength: length,
	}
}

func TestLog(t *testing.T) {
	parent, child := pair(t)
	want := strings.Repeat("line of a log\n", 100_000)
	done := serve(t.Context(), child, func(_ context.Context, r *Request) (*http.Response, error) {
		return text(200, io.NopCloser(strings.NewReader(want)), -1), nil
	})
	resp, err := RoundTrip(t.Context(), parent, logOf(false))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(resp.Body)
	if err != nil || string(got) != want {
		t.Errorf("%d of %d bytes, %v", len(got), len(want), err)
	}
	resp.Body.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestEachLineAtOnce: what a followed log says is not kept until there is more.
func TestEachLineAtOnce(t *testing.T) {
	parent, child := pair(t)
	from, to := io.Pipe()
	done := serve(
		t.Context(),
		child,
		func(ctx context.Context, _ *Request) (*http.Response, error) {
			context.AfterFunc(ctx, func() { from.Close() })
			return text(200, from, -1), nil
		},
	)
	resp, err := RoundTrip(t.Context(), parent, logOf(true))
	if err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 100)
	for _, line := range []string{"one\n", "two\n"} {
		go io.WriteString(to, line)
		if n, err := resp.Body.Read(buffer); err != nil || string(buffer[:n]) != line {
			t.Fatalf("%q, %v", buffer[:n], err)
		}
	}
	resp.Body.Close() // the client goes
	if err := <-done; err == nil {
		t.Error("the far end goes on")
	}
	if _, err := to.Write([]byte("three\n")); err == nil {
		t.Error("the log is still read")
	}
}

// TestCutIsNoEnd: a log that breaks off is an error, not the end of the log.
func TestCutIsNoEnd(t *testing.T) {
	parent, child := pair(t)
	serve(t.Context(), child, func(context.Context, *Request) (*http.Response, error) {
		return text(200, io.NopCloser(io.MultiReader(strings.NewReader("half"), broken{})), -1), nil
	})
	resp, err := RoundTrip(t.Context(), parent, logOf(false))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("%q without an error", got)
	}
}

// counting is a log without an end.
type counting struct{ n atomic.Int64 }

func (c *counting) Read(p []byte) (int, error) { c.n.Add(int64(len(p))); return len(p), nil }

func (c *counting) Close() error { return nil }

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the kubelet has gone") }

// switched answers an upgrade with a connection.
func switched(conn io.ReadWriteCloser) Answer {
	return func(context.Context, *Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: 101,
			Body:       conn,
			Header: http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"},
				"Sec-Websocket-Protocol": {
					"v5.channel.k8s.io",
				}, "Sec-Websocket-Accept": {"x"}, "Server": {"evil"}},
		}, nil
	}
}

func TestUpgradedConnection(t *testing.T) {
	parent, child := pair(t)
	target, far := net.Pipe()
	done := serve(t.Context(), child, switched(target))
	resp, err := RoundTrip(t.Context(), parent, execOf("sh"))
	if err != nil {
		t.Fatal(err)
	}
	if resp.Header.Get("Server") != "" || resp.Header.Get("Sec-Websocket-Accept") != "x" {
		t.Errorf("headers %v", resp.Header)
	}
	conn := resp.Body.(io.ReadWriteCloser)
	go io.Copy(far, io.LimitReader(far, 1<<20)) // echoes, and ends
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	go conn.Write(sent)
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, sent) {
		t.Fatalf("echo: %v", err)
	}
	go func() {
		far.Write([]byte("last words"))
		far.Close()
	}()
	if last, err := io.ReadAll(conn); err != nil || string(last) != "last words" {
		t.Errorf("%q, %v", last, err)
	}
	conn.Close()
	<-done
}

// deafTarget refuses all that is written to it, as an API server does whose command has ended, and
// has output that is read later.
type deafTarget struct {
	*io.PipeReader
	refused chan struct{} // receives one when something was refused
}

func (d deafTarget) Write([]byte) (int, error) {
	select {
	case d.refused <- struct{}{}:
	default:
	}
	return 0, io.ErrClosedPipe
}

// TestOutputOfADeafTarget: a keep-alive that the target refuses costs nothing of its output.
func TestOutputOfADeafTarget(t *testing.T) {
	parent, child := pair(t)
	output, site := io.Pipe()
	target := deafTarget{output, make(chan struct{}, 1)}
	done := serve(t.Context(), child, func(context.Context, *Request) (*http.Response, error) {
		return &http.Response{StatusCode: 101, Body: target,
			Header: http.Header{"Connection": {"Upgrade"}, "Upgrade": {"SPDY/3.1"}}}, nil
	})
	r := execOf("cat", "large")
	r.Upgrade = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"SPDY/3.1"}}
	resp, err := RoundTrip(t.Context(), parent, r)
	if err != nil {
		t.Fatal(err)
	}
	conn := resp.Body.(io.ReadWriteCloser)
	want := strings.Repeat("output ", 100_000)
	go func() {
		_, _ = io.WriteString(conn, "ping")
		<-target.refused
		_, _ = io.WriteString(site, want)
		site.Close()
	}()
	if got, err := io.ReadAll(conn); err != nil || string(got) != want {
		t.Errorf("%d of %d bytes, %v", len(got), len(want), err)
	}
	conn.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestEitherEndIsTheEnd: whoever goes, the target's connection is closed and nothing stays.
func TestEitherEndIsTheEnd(t *testing.T) {
	for name, end := range map[string]func(cancel func(), conn io.Closer, far net.Conn, child tunnel.Stream){
		"the client goes":    func(_ func(), conn io.Closer, _ net.Conn, _ tunnel.Stream) { conn.Close() },
		"its context ends":   func(cancel func(), _ io.Closer, _ net.Conn, _ tunnel.Stream) { cancel() },
		"the target goes":    func(_ func(), _ io.Closer, far net.Conn, _ tunnel.Stream) { far.Close() },
		"the tunnel is gone": func(_ func(), _ io.Closer, _ net.Conn, child tunnel.Stream) { child.Cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			parent, child := pair(t)
			target, far := net.Pipe()
			done := serve(t.Context(), child, switched(target))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			resp, err := RoundTrip(ctx, parent, execOf("sh"))
			if err != nil {
				t.Fatal(err)
			}
			conn := resp.Body.(io.ReadWriteCloser)
			end(cancel, conn, far, child)
			_, _ = io.Copy(io.Discard, conn)
			conn.Close()
			<-done
			if _, err := far.Read(make([]byte, 1)); err == nil {
				t.Error("the target's connection is still open")
			}
		})
	}
}

// TestClientGoesBeforeTheAnswer: what was to be answered is given up.
func TestClientGoesBeforeTheAnswer(t *testing.T) {
	for _, ask := range []*Request{logOf(true), execOf("sh")} {
		parent, child := pair(t)
		asked := make(chan struct{})
		done := serve(
			t.Context(),
			child,
			func(ctx context.Context, _ *Request) (*http.Response, error) {
				close(asked)
				<-ctx.Done()
				return nil, ctx.Err()
			},
		)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-asked
			cancel()
		}()
		if _, err := RoundTrip(ctx, parent, ask); err == nil {
			t.Error("an answer")
		}
		<-done
	}
}

// TestStalledReader: a reader that stops reading costs no memory at either end but what the
// stream's own windows take, and everything ends when it goes.
func TestStalledReader(t *testing.T) { synctest.Test(t, stalledReader) }

func stalledReader(t *testing.T) {
	parent, child := pair(t)
	taken := &counting{}
	done := serve(
		t.Context(),
		child,
		func(context.Context, *Request) (*http.Response, error) { return text(200, taken, -1), nil },
	)
	resp, err := RoundTrip(t.Context(), parent, logOf(true))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait() // until nothing goes on
	if n := taken.n.Load(); n == 0 || n > 256<<10 {
		t.Errorf("%d bytes were read of a log that nobody reads", n)
	}
	resp.Body.Close()
	<-done
}

// TestSilentParent: a stream on which no request comes ends by itself.
func TestSilentParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, child := pair(t)
		began := time.Now()
		done := serve(t.Context(), child, switched(nil))
		_, _ = io.WriteString(parent, "POST /shop")
		<-done
		if d := time.Since(began); d > requestTime+lingerTime {
			t.Errorf("it took %s", d)
		}
	})
}

// TestAway: what a client is told of a target that is not there.
func TestAway(t *testing.T) {
	_, err := Via(t.Context(), nobody{}, "oslo", logOf(false))
	var f *Fault
	if !errors.As(err, &f) || f.Code != 503 || f.After == 0 ||
		!strings.Contains(f.Message, "oslo") ||
		!strings.Contains(f.Message, "no session") {
		t.Fatalf("%+v", err)
	}
	resp := f.Response()
	if when, err := http.ParseTime(resp.Header.Get("Retry-After")); err != nil ||
		time.Until(when) <= 0 {
		t.Errorf("Retry-After %q", resp.Header.Get("Retry-After"))
	}
}

type nobody struct{}

func (nobody) OpenStream(context.Context, string) (tunnel.Stream, error) {
	return nil, &tunnel.Away{Target: "oslo", Since: time.Unix(1, 0), Reason: "it has no session"}
}

// TestManyStreams: five hundred streams that end at every stage leave nothing.
func TestManyStreams(t *testing.T) {
	before := runtime.NumGoroutine()
	for i := range 500 {
		parent, child := pair(t)
		target, far := net.Pipe()
		done := serve(t.Context(), child, switched(target))
		switch i % 4 {
		case 0:
			parent.Cancel()
		case 1:
			_, _ = io.WriteString(parent, soundExec[:len(soundExec)/2])
			parent.Cancel()
		case 2:
			if resp, err := RoundTrip(t.Context(), parent, execOf("sh")); err == nil {
				resp.Body.Close()
			}
		case 3:
			if resp, err := RoundTrip(t.Context(), parent, execOf("sh")); err == nil {
				far.Close()
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		}
		<-done
		target.Close()
		far.Close()
	}
	storetest.Eventually(t, "their goroutines end", func() bool { return runtime.NumGoroutine() <= before+5 },
		func() any { return runtime.NumGoroutine() - before })
}
