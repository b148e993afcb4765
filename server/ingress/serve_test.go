package ingress

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
)

// web is a center that serves a.test by Service web of space shop.
func web(t *testing.T, app http.HandlerFunc) *center {
	t.Helper()
	c := start(t)
	c.app("web", app)
	c.grant("shop", "a.test")
	c.service("shop", "web")
	c.ingress("shop", "web", m{"rules": []any{rule("a.test", "Prefix /", "web")}})
	c.eventually("it is served", func() bool { code, _ := c.get("http://a.test/"); return code == http.StatusOK })
	return c
}

func echo(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "%s %s %s host=%s", r.Method, r.URL, r.Proto, r.Host)
	for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Real-Ip", "Forwarded",
		"Keep-Alive", "X-Own", "Te", "Proxy-Authorization"} {
		fmt.Fprintf(w, " %s=%s", name, strings.Join(r.Header[name], "+"))
	}
}

func TestARequestIsPassedOn(t *testing.T) {
	c := web(t, echo)
	req, _ := http.NewRequest(http.MethodPut, "http://a.test/x%2Fy?q=1;2&a=%20", strings.NewReader("body"))
	for name, value := range map[string]string{"X-Forwarded-For": "1.2.3.4", "X-Forwarded-Proto": "evil", "X-Forwarded-Host": "evil",
		"X-Real-Ip": "1.2.3.4", "Forwarded": "for=1.2.3.4", "Connection": "X-Own, keep-alive", "X-Own": "1", "Keep-Alive": "9",
		"Proxy-Authorization": "x"} {
		req.Header.Set(name, value)
	}
	resp, err := c.client(nil, false).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	const want = "PUT /x%2Fy?q=1;2&a=%20 HTTP/1.1 host=a.test X-Forwarded-For=127.0.0.1 X-Forwarded-Proto=http " +
		"X-Forwarded-Host=a.test X-Real-Ip=127.0.0.1 Forwarded= Keep-Alive= X-Own= Te= Proxy-Authorization="
	if string(text) != want {
		t.Errorf("it got\n%s, want\n%s", text, want)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.calls[0]
	caller, err := exchange.ReadCaller(r.Caller)
	if err != nil || caller.Address.String() != "127.0.0.1" || caller.Namespace != "" || r.Origin != "uid-web" ||
		r.Query.Get(exchange.OptionPort) != "80" || r.Check() != nil {
		t.Errorf("the call is %+v of %+v, %v, %v", r, caller, err, r.Check())
	}
}

// Nobody else is answered, and nobody hears where anything runs.
func TestOthersAreRefused(t *testing.T) {
	c := web(t, echo)
	c.service("shop", "away")
	c.ingress("shop", "more", m{"rules": []any{rule("a.test", "Prefix /away", "away", "Prefix /none", "none")}})
	c.eventually("it is served", func() bool { code, _ := c.get("http://a.test/none"); return code == http.StatusServiceUnavailable })
	for url, want := range map[string]int{"http://b.test/": 404, "http://127.0.0.1/": 404, "http://a.test/away": 503,
		"http://a.test/x/../y": 400, "http://a.test/x/%2e%2e/y": 400, "http://a.test/..": 400, "http://a.test/x..y": 200} {
		code, body := c.get(url)
		if code != want || strings.Contains(body, "paris") || strings.Contains(body, "uid") {
			t.Errorf("%s is answered with %d %s, want %d", url, code, body, want)
		}
	}
	c.set(&exchange.Fault{Code: http.StatusForbidden, Reason: exchange.Denied, Message: "NetworkPolicy guard at paris"}, false)
	if code, body := c.get("http://a.test/away"); code != http.StatusForbidden || strings.Contains(body, "guard") {
		t.Errorf("a caller that policies do not let in hears %d %s", code, body)
	}
	for _, text := range []string{"CONNECT a.test:80 HTTP/1.1\r\nHost: a.test:80\r\n\r\n", "GET * HTTP/1.1\r\nHost: a.test\r\n\r\n",
		"GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a.test\r\nHost: b.test\r\n\r\n", "GET / HTTP/1.0\r\n\r\n", "\x00\x00\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"GET / HTTP/1.1\r\nHost: a.test\r\nX: " + strings.Repeat("a", 2*mostHeader) + "\r\n\r\n"} {
		conn, err := net.Dial("tcp", c.at)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, text)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err == nil && resp.StatusCode < 400 {
			t.Errorf("%.60q is answered with %d", text, resp.StatusCode)
		}
		conn.Close()
	}
}

func TestTLS(t *testing.T) {
	c := web(t, echo)
	c.grant("shop", "a.test", "*.a.test", "bare.test")
	c.grant("other", "b.test")
	c.service("other", "web")
	roots := c.secret("shop", "tls", "a.test", "*.a.test")
	c.ingress("shop", "web", m{"rules": []any{rule("a.test", "Prefix /", "web"), rule("x.a.test", "Prefix /", "web"), rule("bare.test", "Prefix /", "web")},
		"tls": []any{m{"hosts": []any{"a.test", "*.a.test"}, "secretName": "tls"}}})
	theirs := c.secret("other", "tls", "b.test")
	c.ingress("other", "theirs", m{"rules": []any{rule("b.test", "Prefix /", "web")}, "tls": []any{m{"secretName": "tls"}}})
	client := c.client(roots, true)
	for _, host := range []string{"a.test", "x.a.test"} {
		c.eventually(host+" is served by TLS", func() bool { code, _ := c.getBy(client, "https://"+host+"/"); return code == 200 })
	}
	c.eventually("the other space's, too", func() bool { code, _ := c.getBy(c.client(theirs, true), "https://b.test/"); return code == 200 })
	resp, err := client.Get("https://a.test/")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.ProtoMajor != 2 || !strings.Contains(string(text), "X-Forwarded-Proto=https") || !strings.Contains(string(text), "HTTP/1.1 host=a.test") {
		t.Errorf("by HTTP/2: %s %s", resp.Proto, text)
	}
	// A connection for one host is for all of its space, and for none of another one's.
	for host, want := range map[string]int{"x.a.test": 200, "b.test": 421, "bare.test": 421, "nobody.test": 404} {
		req, _ := http.NewRequest(http.MethodGet, "https://a.test/", nil)
		req.Host = host
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("host %s by a connection for a.test: %d, want %d", host, resp.StatusCode, want)
		}
	}
	if code, _ := c.get("http://bare.test/"); code != 200 {
		t.Errorf("without TLS: %d", code)
	}
	plain, err := c.client(nil, false).Get("http://a.test:81/x?y=z")
	if err != nil || plain.StatusCode != http.StatusPermanentRedirect || plain.Header.Get("Location") != "https://a.test:81/x?y=z" {
		t.Errorf("plain HTTP: %v %v", plain, err)
	}
	for _, name := range []string{"bare.test", "nobody.test", ""} {
		conn, err := tls.Dial("tcp", c.at, &tls.Config{ServerName: name, InsecureSkipVerify: true})
		if err == nil {
			conn.Close()
			t.Errorf("TLS for %q", name)
		}
	}
	// Another certificate is taken at once.
	next := c.secret("shop", "tls", "a.test")
	c.eventually("the next certificate", func() bool { code, _ := c.getBy(c.client(next, true), "https://a.test/"); return code == 200 })
	c.eventually("what is wrong is said", func() bool {
		return strings.Contains(c.told(), "the certificate in Secret tls is not for host *.a.test")
	})
	// A Secret that has gone leaves the host without TLS.
	c.put(store.Key{Space: "shop", Resource: "secrets", Namespace: "app", Name: "tls"}, nil)
	c.eventually("no certificate, no TLS", func() bool { code, _ := c.getBy(c.client(next, true), "https://a.test/"); return code == 0 })
}

// TLS that ends at the Pods is passed on by its server name.
func TestPassthrough(t *testing.T) {
	c := web(t, echo)
	app, roots := tlsApp(t)
	c.mu.Lock()
	c.apps["tls"] = app
	c.mu.Unlock()
	c.grant("shop", "example.com")
	c.service("shop", "tls")
	c.put(ingressKey("shop", "pass"), m{"metadata": m{"uid": "uid-pass", "annotations": m{"skerry.dev/tls": "passthrough"}},
		"spec": m{"ingressClassName": "skerry", "rules": []any{rule("example.com", "Prefix /", "tls")}, "tls": []any{m{"hosts": []any{"example.com"}}}}})
	c.eventually("it is passed on", func() bool {
		code, text := c.getBy(c.client(roots, false), "https://example.com/x")
		return code == 200 && text == "mine /x"
	})
	if code, _ := c.get("http://example.com/"); code != http.StatusPermanentRedirect {
		t.Errorf("plain HTTP: %d", code)
	}
}

// What is upgraded passes both ways, and bytes pass as they come.
func TestStreams(t *testing.T) {
	steps, uploaded := make(chan string), make(chan string)
	c := web(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/upgrade":
			conn, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			_, _ = io.Copy(conn, rw)
		case "/drip":
			for text := range steps {
				_, _ = io.WriteString(w, text)
				_ = http.NewResponseController(w).Flush()
			}
		case "/upload":
			b := make([]byte, 5)
			for range 2 {
				_, _ = io.ReadFull(r.Body, b)
				uploaded <- string(b)
			}
		}
	})
	conn, err := net.Dial("tcp", c.at)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "GET /upgrade HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	r := bufio.NewReader(conn)
	if resp, err := http.ReadResponse(r, nil); err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("upgrade: %v %v", resp, err)
	}
	for _, word := range []string{"hello\n", "again\n"} {
		_, _ = io.WriteString(conn, word)
		if got, err := r.ReadString('\n'); got != word {
			t.Fatalf("it echoes %q, %v", got, err)
		}
	}
	resp, err := get(c, "/drip", steps)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 5)
	for _, want := range []string{"first", "again"} {
		if want == "again" {
			steps <- want
		}
		if _, err := io.ReadFull(resp.Body, b); err != nil || string(b) != want {
			t.Fatalf("%q comes, %v", b, err)
		}
	}
	close(steps)
	resp.Body.Close()
	out, in := io.Pipe()
	go func() {
		resp, err := c.client(nil, false).Post("http://a.test/upload", "", out)
		if err == nil {
			resp.Body.Close()
		}
	}()
	for _, want := range []string{"piece", "other"} {
		_, _ = io.WriteString(in, want)
		if got := <-uploaded; got != want {
			t.Fatalf("%q was sent, and %q came", want, got)
		}
	}
	in.Close()
}

// get begins to read an answer, of which the first part was sent.
func get(c *center, path string, steps chan string) (*http.Response, error) {
	go func() { steps <- "first" }()
	return c.client(nil, false).Get("http://a.test" + path)
}

// While what answers moves, callers wait for it, and no connection that was kept is used.
func TestCallersWaitForWhatMoves(t *testing.T) {
	c := web(t, echo)
	client := c.client(nil, false)
	if code, _ := c.getBy(client, "http://a.test/"); code != 200 {
		t.Fatal(code)
	}
	kept := len(c.called())
	if _, _ = c.getBy(client, "http://a.test/"); len(c.called()) != kept {
		t.Error("a connection that is there is not used")
	}
	c.set(&exchange.Fault{Code: http.StatusServiceUnavailable, Reason: exchange.Moving, Message: "it moves"}, true)
	answered := make(chan int, 20)
	for range 20 {
		go func() { code, _ := c.get("http://a.test/"); answered <- code }()
	}
	c.eventually("they ask", func() bool { return len(c.called()) >= kept+20 })
	select {
	case code := <-answered:
		t.Fatalf("one is answered with %d", code)
	case <-time.After(connectTime + 2*holdEvery):
	}
	c.set(nil, true)
	for range 20 {
		if code := <-answered; code != 200 {
			t.Errorf("one that waited is answered with %d", code)
		}
	}
	before := len(c.called())
	for range 3 {
		_, _ = c.getBy(client, "http://a.test/")
	}
	if got := len(c.called()) - before; got != 3 {
		t.Errorf("%d connections for 3 requests while it moves", got)
	}
}

// Each connection of a caller has its own to the application, about which policies are asked, and that ends with it.
func TestCallersShareNoConnection(t *testing.T) {
	c := web(t, echo)
	before := len(c.called())
	one, other := c.client(nil, false), c.client(nil, false)
	for range 3 {
		for _, client := range []*http.Client{one, other} {
			if code, _ := c.getBy(client, "http://a.test/"); code != 200 {
				t.Fatal(code)
			}
		}
	}
	if got := len(c.called()) - before; got != 2 {
		t.Errorf("%d connections of two callers", got)
	}
	open := c.opened()
	one.CloseIdleConnections()
	c.eventually("it has ended with its caller's", func() bool { return c.opened() == open-1 })
	c.set(&exchange.Fault{Code: http.StatusForbidden, Reason: exchange.Denied, Message: "no"}, false)
	if code, _ := c.getBy(one, "http://a.test/"); code != http.StatusForbidden {
		t.Errorf("a changed policy, and a new connection: %d", code)
	}
}

func (c *center) called() []*exchange.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[:len(c.calls):len(c.calls)]
}

// A connection that was busy while its application moved is not used again.
func TestNoConnectionIsKeptThroughAMove(t *testing.T) {
	began, ends := make(chan bool), make(chan bool)
	c := web(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			began <- true
			<-ends
		}
	})
	roots := c.secret("shop", "tls", "a.test")
	c.ingress("shop", "web", m{"rules": []any{rule("a.test", "Prefix /", "web")}, "tls": []any{m{"secretName": "tls"}}})
	client := c.client(roots, true) // all requests come by one connection
	ask := func(path string) string {
		code, body := c.getBy(client, "https://a.test"+path)
		return fmt.Sprint(code, body)
	}
	c.eventually("it is served by TLS", func() bool { return ask("/") == "200" })
	slow := make(chan string)
	go func() { slow <- ask("/slow") }()
	<-began
	c.app("web", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "moved") })
	for _, moving := range []bool{true, false} {
		c.set(nil, moving)
		if got := ask("/"); got != "200moved" {
			t.Errorf("while it moves (%v) the answer is %s", moving, got)
		}
	}
	ends <- true
	if got := <-slow; got != "200" {
		t.Errorf("what began before is answered with %s", got)
	}
	if got := ask("/"); got != "200moved" {
		t.Errorf("the answer is %s", got)
	}
}
