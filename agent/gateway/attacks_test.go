package gateway

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/store"
)

// connect opens a connection to the gateway as a pod does that trusts a Secret, without HTTP/2.
func (s *site) connect(t *testing.T, secret map[string]string) *tls.Conn {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(secret[store.PodAPICA]))
	s.mu.Lock()
	at := s.at
	s.mu.Unlock()
	d := tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: "10.96.0.7"}}
	conn, err := d.DialContext(t.Context(), "tcp", at.String())
	must(t, err)
	must(t, conn.SetDeadline(time.Now().Add(patience)))
	return conn.(*tls.Conn)
}

// say sends bytes and returns the status of the first answer, 0 where the connection is closed.
func (s *site) say(t *testing.T, secret map[string]string, text string) int {
	t.Helper()
	conn := s.connect(t, secret)
	defer conn.Close()
	// The gateway may answer, and close, before it has read everything.
	_, _ = io.WriteString(conn, text)
	_ = conn.CloseWrite()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return resp.StatusCode
}

func (p *parent) take() []crossing {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.heard
	p.heard = nil
	return out
}

// TestStrangersStayOutside: whatever has not exactly one token that this gateway keeps is answered
// at the site.
func TestStrangersStayOutside(t *testing.T) {
	api, p := newAPI(t), newParent(t)
	s := newSite(t, t.TempDir(), api, p, "127.0.0.1:0")
	must(t, s.provided(t, "op"))
	elsewhere, q := newSite(t, t.TempDir(), newAPI(t), newParent(t), "127.0.0.1:0"), "/api/v1/secrets"
	must(t, elsewhere.provided(t, "twin"))
	eventually(t, "both know what they keep", func() bool { return !s.starting() && !elsewhere.starting() })
	secret := s.secret(t, "op")
	good := secret[store.PodAPIToken]
	parts := strings.Split(good, ".")
	encoded := base64.RawURLEncoding.EncodeToString([]byte(good))
	for _, heads := range []string{
		"", "Authorization:", "Authorization: Bearer", "Authorization: Bearer ", "Authorization: " + good,
		"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("op:"+good)),
		"Authorization: Basic " + good, "Authorization: Token " + good, "Authorization: Negotiate " + good,
		"Authorization: Bearer\t" + good, "Authorization: Bearer," + good, "Authorization: Bearer=" + good,
		"Authorization: Bearer " + good + "," + good, "Authorization: Bearer " + good + " " + good,
		"Authorization: Bearer " + good + "\r\nAuthorization: Bearer " + good,
		"Authorization: Bearer " + good + "\r\nauthorization: Basic x",
		"Authorization: Bearer " + good[:len(good)-1], "Authorization: Bearer " + good[1:],
		"Authorization: Bearer " + good + "=", "Authorization: Bearer " + good + "%00",
		"Authorization: Bearer \"" + good + "\"",
		"Authorization: Bearer " + strings.ToUpper(good), "Authorization: Bearer " + parts[0] + "." + parts[1] + ".",
		"Authorization: Bearer " + parts[0] + "." + parts[1], "Authorization: Bearer none." + parts[1] + ".s",
		"Authorization: Bearer " + elsewhere.secret(t, "twin")[store.PodAPIToken],
		"Authorization: Bearer " + token("shop/app/op", 2, time.Hour),
		"Authorization: Bearer " + token("root/app/op", 1, time.Hour),
		"Authorization: Bearer " + strings.Repeat("x", longestAccessToken),
		"Proxy-Authorization: Bearer " + good, "X-Authorization: Bearer " + good, "X-Forwarded-Authorization: Bearer " + good,
		"Cookie: token=" + good, "X-Remote-User: op\r\nX-Remote-Group: system:masters", "Impersonate-User: admin",
		"Skerry-Space: shop\r\nSkerry-Site: paris", "Skerry-Ask: token", "Skerry-Space: shop\r\nSkerry-Ask: token",
		"Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io." + encoded,
		"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io." + encoded,
		"Connection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA",
		"Expect: 100-continue\r\nContent-Length: 4", "Transfer-Encoding: chunked\r\nTrailer: Authorization",
	} {
		code := s.say(t, secret, "GET "+q+" HTTP/1.1\r\nHost: x\r\n"+heads+"\r\n\r\n")
		if code != http.StatusUnauthorized && code != http.StatusBadRequest {
			t.Errorf("%.120q is answered with %d", heads, code)
		}
	}
	for _, line := range []string{
		"GET /api?access_token=" + good, "GET /api?authorization=Bearer%20" + good, "GET /" + good,
		"GET /healthz", "GET /livez", "GET /readyz",
		"GET /metrics", "GET /debug/pprof/heap", "GET /version", "GET /openid/v1/jwks",
		"GET /.well-known/openid-configuration",
		"GET /clusters/shop/api", "GET https://op:" + good + "@center.test/api", "CONNECT center.test:443",
		"OPTIONS *", "POST /", "TRACE /",
		"PRI *",
	} {
		code := s.say(t, secret, line+" HTTP/1.1\r\nHost: x\r\n\r\n")
		if code != http.StatusUnauthorized && code != http.StatusBadRequest {
			t.Errorf("%.120q is answered with %d", line, code)
		}
	}
	trailer := "POST /api HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTrailer: Authorization\r\n\r\n1\r\nx\r\n0\r\nAuthorization: Bearer " + good + "\r\n\r\n"
	if code := s.say(t, secret, trailer); code != http.StatusUnauthorized {
		t.Errorf("a token behind the body is answered with %d", code)
	}
	if crossed := p.take(); len(crossed) > 0 || p.count() != 1 {
		t.Errorf("%d requests crossed: %v", len(crossed), crossed)
	}
}

// TestPodsAskTheirSpaceAlone: a pod that has a token speaks for its space at this site, whatever it
// says of itself, and only what Kubernetes knows of its headers crosses.
func TestPodsAskTheirSpaceAlone(t *testing.T) {
	api, p := newAPI(t), newParent(t)
	s := newSite(t, t.TempDir(), api, p, "127.0.0.1:0")
	must(t, s.provided(t, "op"))
	secret := s.secret(t, "op")
	bearer := "Authorization: Bearer " + secret[store.PodAPIToken] + "\r\n"
	known := []string{"Accept-Encoding", "Authorization", "Connection", "Content-Type", "Impersonate-User",
		"Upgrade", "User-Agent",
		"Sec-Websocket-Protocol", "Content-Length"}
	tries := 0
	check := func(what, text string, most int) {
		t.Helper()
		tries++
		code := s.say(t, secret, text)
		crossed := p.take()
		if len(crossed) > most {
			t.Errorf("%s: %d requests crossed", what, len(crossed))
		}
		for _, c := range crossed {
			if c.space != "shop" || c.site != "paris" {
				t.Errorf("%s: asked for space %s as site %s", what, c.space, c.site)
			}
			for name := range c.header {
				if !slices.Contains(known, name) {
					t.Errorf("%s: header %s crossed", what, name)
				}
			}
		}
		if code == http.StatusInternalServerError || code == http.StatusBadGateway {
			t.Errorf("%s: answered with %d", what, code)
		}
	}
	get := func(line, heads string) string { return line + " HTTP/1.1\r\n" + heads + bearer + "\r\n" }
	for _, uri := range []string{
		"/", "/..", "/../..", "/../clusters/other/api", "/%2e%2e/clusters/other/api", "/..%2fclusters%2fother",
		"//clusters/other/api",
		"//other.test/api", "/clusters/other/api", "/./clusters/other/api", "/api/../clusters/other",
		"/api;/clusters/other", "/api%00/x", "/api%0d%0aSkerry-Space:%20other",
		"/api?x=%0d%0aSkerry-Space:%20other", "/api?x=y?/clusters/other", "/api#/clusters/other",
		"/%63lusters/other/api", "/clusters%2fother/api",
		"/debug/pprof/heap", "/metrics", "/healthz", "/targets/oslo/api", "/enroll/v1", "/openid/v1/jwks",
		"/\\..\\clusters\\other", "/api/v1/%ff",
		"http://other.test/api", "https://center.test/clusters/other/api", "http://parent/clusters/other/api",
		"http:opaque", "ftp://x/", "*", "?/clusters/other",
	} {
		check(uri, get("GET "+uri, "Host: x\r\n"), 1)
	}
	for _, heads := range []string{
		"Skerry-Space: other", "Skerry-Space: other\r\nSkerry-Space: shop", "skerry-space: other",
		"SKERRY-SPACE: other", "Skerry-Site: rome",
		"Skerry-Site: ../rome", "Skerry-Ask: token", "Skerry-Ask: token\r\nSkerry-Space: other",
		"Skerry_Space: other", "Skerry-Uid: x", "Skerry-Path: rome",
		"X-Remote-User: admin", "X-Remote-Group: system:masters", "X-Remote-Extra-Scopes: all",
		"X-Forwarded-For: 127.0.0.1", "X-Forwarded-Host: other",
		"X-Forwarded-Proto: https", "X-Real-Ip: 127.0.0.1", "Forwarded: host=other", "Via: 1.1 other",
		"X-Original-Url: /clusters/other", "X-Rewrite-Url: /clusters/other",
		"X-Http-Method-Override: DELETE", "X-Kubernetes-Cluster: other", "Cookie: a=b", "Origin: https://other",
		"Referer: https://other", "Te: trailers",
		"Proxy-Connection: keep-alive", "Proxy-Authorization: Bearer x", "Keep-Alive: timeout=1",
		"Max-Forwards: 0", "Expect: 100-continue",
		"Connection: Skerry-Space, Skerry-Site, Authorization",
		"Connection: Upgrade, Skerry-Space, Authorization\r\nUpgrade: websocket", "Connection: close, Authorization",
		"Connection: Upgrade", "Connection: Upgrade\r\nUpgrade: websocket\r\nUpgrade: SPDY/3.1",
		"Upgrade: websocket", "Connection: Upgrade\r\nUpgrade: websocket",
		"Impersonate-User: admin", "Trailer: Skerry-Space", "User-Agent: a\r\nX-Y: b", "Date: x", "Server: x",
	} {
		check(heads, get("GET /api", "Host: x\r\n"+heads+"\r\n"), 1)
	}
	for _, method := range []string{"CONNECT", "TRACE", "OPTIONS", "PRI", "PURGE", "get", "DELETE", "SEARCH"} {
		check(method, get(method+" /api", "Host: x\r\n"), 1)
	}
	check("CONNECT to a host", get("CONNECT other.test:443", "Host: other.test:443\r\n"), 1)
	second := "GET /smuggled HTTP/1.1\r\nHost: x\r\nSkerry-Space: other\r\n\r\n"
	post := "POST /api HTTP/1.1\r\nHost: x\r\n" + bearer
	for what, text := range map[string]string{
		"a second request without a token": get("GET /api", "Host: x\r\n") + second,
		"two lengths": post + "Content-Length: 0\r\nContent-Length: " +
			fmt.Sprint(len(second)) + "\r\n\r\n" + second,
		"a length and chunks": post +
			"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + second,
		"chunks that are none":                post + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + second,
		"chunks by another spelling":          post + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + second,
		"chunks with a tab":                   post + "Transfer-Encoding:\tchunked\r\n\r\n0\r\n\r\n" + second,
		"xchunked":                            post + "Transfer-Encoding: xchunked\r\nContent-Length: 4\r\n\r\n" + second,
		"a folded header":                     post + "X-A: b\r\n Skerry-Space: other\r\nContent-Length: 0\r\n\r\n",
		"a header that ends with a line":      post + "X-A: b\nSkerry-Space: other\nContent-Length: 0\n\n" + second,
		"a header without a name":             post + ": other\r\nContent-Length: 0\r\n\r\n",
		"a negative length":                   post + "Content-Length: -1\r\n\r\n" + second,
		"a length with a sign":                post + "Content-Length: +4\r\n\r\nabcd" + second,
		"a chunk of a huge length":            post + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff0\r\n" + second,
		"a chunk that is longer than it says": post + "Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n" + second,
		"a chunk with an extension":           post + "Transfer-Encoding: chunked\r\n\r\n0;a=\"\r\n\r\n\"\r\n\r\n" + second,
		"trailers": post +
			"Transfer-Encoding: chunked\r\nTrailer: Skerry-Space\r\n\r\n0\r\nSkerry-Space: other\r\nSkerry-Ask: token\r\n\r\n" + second,
		"HTTP/1.0":           "GET /api HTTP/1.0\r\n" + bearer + "Connection: keep-alive\r\n\r\n" + second,
		"HTTP/0.9":           "GET /api\r\n" + second,
		"HTTP/3.0":           "GET /api HTTP/3.0\r\nHost: x\r\n" + bearer + "\r\n",
		"two hosts":          get("GET /api", "Host: x\r\nHost: y\r\n"),
		"no host":            get("GET /api", ""),
		"a host with a path": get("GET /api", "Host: x/clusters/other\r\n"),
		"a huge head":        get("GET /api", "Host: x\r\nX-A: "+strings.Repeat("a", 2<<20)+"\r\n"),
		"many heads":         get("GET /api", "Host: x\r\n"+strings.Repeat("X-A: b\r\n", 100_000)),
		"a huge path":        get("GET /"+strings.Repeat("a", 2<<20), "Host: x\r\n"),
		"HTTP/2 in clear":    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	} {
		check(what, text, 1)
	}
	if p.count() != 1 {
		t.Errorf("a pod has had %d tokens issued", p.count()-1)
	}
	t.Logf("%d tries", tries)
}

// TestStrangersLeaveRoom: connections without a token, and those of another space, keep no pod from
// the gateway, not even on the same node.
func TestStrangersLeaveRoom(t *testing.T) {
	s := newSite(t, t.TempDir(), newAPI(t), newParent(t), "127.0.0.1:0")
	must(t, s.provided(t, "op"))
	other := op
	other.Space = "team"
	must(t, s.Provide(t.Context(), other, "pre-app", "team-op"))
	flood, secret := s.secret(t, "team-op"), s.secret(t, "op")
	var open []net.Conn
	defer func() {
		for _, c := range open {
			c.Close()
		}
	}()
	send := func(n int, text string) (codes map[int]int) {
		codes = map[int]int{}
		for range n {
			c := s.connect(t, secret)
			open = append(open, c)
			if text == "" {
				continue
			}
			_, err := io.WriteString(c, text)
			must(t, err)
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			must(t, err)
			codes[resp.StatusCode]++
		}
		return codes
	}
	request := func(heads string) string { return "GET /api HTTP/1.1\r\nHost: x\r\n" + heads + "\r\n" }
	send(2*mostPerSource, "")
	send(2*mostPerSource, request(""))
	codes := send(mostPerShare+3, request("Authorization: Bearer "+flood[store.PodAPIToken]+"\r\n"))
	if codes[http.StatusOK] != mostPerShare || codes[http.StatusTooManyRequests] != 3 {
		t.Errorf("a space that floods is answered with %v", codes)
	}
	send(2*mostPerSource, request(""))
	if code, body := s.ask(t, secret, secret[store.PodAPIToken]); code != http.StatusOK {
		t.Errorf("a pod is answered with %d %s", code, body)
	}
	for _, c := range open {
		c.Close()
	}
	open = nil
	eventually(t, "all room is given back", func() bool {
		return s.ask200(t, flood) && s.ask200(t, secret)
	})
}

func (s *site) ask200(t *testing.T, secret map[string]string) bool {
	t.Helper()
	code, _ := s.ask(t, secret, secret[store.PodAPIToken])
	return code == http.StatusOK
}

// TestRoom: room that is given back is counted once, whoever has had it.
func TestRoom(t *testing.T) {
	b := newBounded(nil)
	var all []*counted
	connect := func(source string) (*counted, bool) {
		ours, theirs := net.Pipe()
		theirs.Close()
		c := &counted{Conn: ours, of: b, source: netip.MustParseAddr(source)}
		taken, stranger := b.take(c)
		if stranger != nil {
			stranger.Close()
			taken, _ = b.take(c)
		}
		all = append(all, c)
		return c, taken
	}
	for i := range mostConnections {
		if c, taken := connect(fmt.Sprintf("10.0.0.%d", i/mostPerSource)); !taken || i%2 == 0 && !b.prove(c, "shop") {
			t.Fatalf("connection %d", i)
		}
	}
	if len(b.strangers) != mostConnections/2 || b.spaces["shop"] != mostConnectionsOfSpace {
		t.Errorf("%d strangers, %v", len(b.strangers), b.spaces)
	}
	c, taken := connect("10.0.1.1")
	if !taken || !all[1].closed || b.prove(all[1], "shop") || b.prove(c, "shop") || !b.prove(c, "team") ||
		!b.prove(c, "team") {
		t.Error("the oldest stranger has to go, and no more of the space may come")
	}
	for _, c := range slices.Concat(all, all) {
		c.Close()
	}
	if b.all != 0 || len(b.sources)+len(b.strangers)+len(b.spaces)+len(b.shares) != 0 {
		t.Errorf("left: %+v", b)
	}
}
