package replicas

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// TestRefusals: each says why and when to ask again, and asks no site.
func TestRefusals(t *testing.T) {
	standsBy := func(context.Context, string, *exchange.Request) (*http.Response, error) {
		return nil, &exchange.Fault{
			Code:    503,
			Reason:  "ServiceUnavailable",
			After:   10,
			Message: "this replica stands by",
		}
	}
	loop := start(t, "", standsBy)
	for name, c := range map[string]struct {
		leader string
		says   string
	}{
		"nobody leads":            {"", "no replica of this center is known to lead"},
		"the leader is away":      {tunneltest.AnyPort(), "cannot be reached from it"},
		"it does not lead itself": {loop.address, "this replica stands by"},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, c.leader, nobody(t))
			f.client = loop.client
			resp, err := f.Do(t.Context(), "oslo", logOf())
			if err != nil {
				resp = exchange.FaultOf(err).Response()
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" ||
				!strings.Contains(string(body), c.says) {
				t.Errorf("%d %v %s", resp.StatusCode, resp.Header, body)
			}
			f.idle(t)
		})
	}
}

// TestSilentLeader: one that accepts and says nothing does not hold a client for longer than the
// handshake may take.
func TestSilentLeader(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	begun := time.Now()
	_, err = start(t, silent.Addr().String(), nobody(t)).Do(t.Context(), "oslo", logOf())
	if f := exchange.FaultOf(err); f.Code != 503 || time.Since(begun) > 4*dialTime {
		t.Errorf("%v after %s", err, time.Since(begun))
	}
}

// TestBrokenLeader: of one that ends before its answer it is not known whether the site was asked.
func TestBrokenLeader(t *testing.T) {
	leader := start(t, "", nobody(t))
	l, err := tls.Listen("tcp", "127.0.0.1:0", leader.server)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if conn, err := l.Accept(); err == nil {
			// It has the request, all of which is in the open inside of the connection.
			for got, part := "", make([]byte, 4096); err == nil && !strings.Contains(got, "HTTP/1.1"); {
				var n int
				n, err = conn.Read(part)
				got += string(part[:n])
			}
			conn.(*tls.Conn).NetConn().Close()
		}
	}()
	f := start(t, l.Addr().String(), nobody(t))
	f.client = leader.client
	_, err = f.Do(t.Context(), "oslo", execOf())
	if fault := exchange.FaultOf(err); fault.Code != 503 || fault.After == 0 ||
		!strings.Contains(fault.Message, "is not known") {
		t.Errorf("%v", err)
	}
}

// send sends text as a replica would, and returns the answer.
func send(t *testing.T, to *replica, text string) (int, string) {
	t.Helper()
	conn, err := tls.Dial("tcp", to.address, to.client)
	if err != nil {
		t.Fatal(err)
	}
	m := to.conn(conn, true)
	defer func() {
		_ = m.Close(nil)
		<-m.Received()
	}()
	stream, err := m.OpenStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = stream.SetDeadline(time.Now().Add(20 * time.Second))
	_, _ = io.WriteString(stream, text)
	resp, err := http.ReadResponse(bufio.NewReader(stream), nil)
	if err != nil {
		return 0, err.Error()
	}
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

// TestForged: what is not a request for a Pod at a target by its name reaches nobody.
func TestForged(t *testing.T) {
	leader := start(t, "", nobody(t))
	const begin = "POST /shop/web/app-1/log HTTP/1.1\r\nHost: target\r\n"
	head := func(path string) string {
		return begin + "Skerry-Uid: u-1\r\n" + path + "Content-Length: 0\r\n\r\n"
	}
	for name, text := range map[string]string{
		"no target":            head(""),
		"an empty target":      head("Skerry-Path: \r\n"),
		"a path as target":     head("Skerry-Path: ../../api\r\n"),
		"an upper-case target": head("Skerry-Path: Oslo\r\n"),
		"two targets":          head("Skerry-Path: oslo\r\nSkerry-Path: paris\r\n"),
		"too many tiers":       head("Skerry-Path: " + strings.Repeat("a/", 16) + "a\r\n"),
		"another user":         head("Skerry-Path: oslo\r\nImpersonate-User: root\r\n"),
		"the kube API":         "GET /api/v1/namespaces HTTP/1.1\r\nHost: target\r\n\r\n",
		"another Pod's part":   strings.Replace(head("Skerry-Path: oslo\r\n"), "/log", "/proxy", 1),
		"a head without end":   begin + "Skerry-User: " + strings.Repeat("x", 140<<10),
	} {
		if code, body := send(t, leader, text); code != 400 &&
			!(name == "a head without end" && code == 502) {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
}

// TestLimits: who asks for too much is told so, and then not heard.
func TestLimits(t *testing.T) {
	leader := start(t, "", nobody(t))
	f := start(t, leader.address, nobody(t))
	f.client = leader.client
	f.passed.Add(maxStreams)
	if _, err := f.Do(t.Context(), "oslo", logOf()); exchange.FaultOf(err).Code != 429 ||
		leader.taken.Load() != 0 {
		t.Errorf("too many that are passed on: %v", err)
	}
	f.passed.Add(-maxStreams)
	leader.taken.Add(maxStreams)
	resp, err := f.Do(t.Context(), "oslo", logOf())
	if err != nil || resp.StatusCode != 429 {
		t.Errorf("too many that are taken: %v, %v", resp, err)
	}
	resp.Body.Close()
	leader.taken.Add(maxStreams)
	if _, err := f.Do(t.Context(), "oslo", logOf()); exchange.FaultOf(err).Code != 503 {
		t.Errorf("far too many: %v", err)
	}
	leader.taken.Add(-2 * maxStreams)
}
