package upward

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/store/storetest/leak"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/mux"
	"skerry.dev/skerry/tunnel/pipe"
	"skerry.dev/skerry/tunnel/tunneltest"
)

func TestMain(m *testing.M) { leak.Main(m) }

const patience = 2 * time.Minute

// tier connects a child to a parent that answers with a handler. It returns how the child asks.
func tier(t *testing.T, h http.Handler) *http.Transport {
	t.Helper()
	up := NewTransport(tunneltest.ServeStreams(t, Server{Handler: h}))
	t.Cleanup(up.CloseIdleConnections)
	return up
}

// arriving hands on what has arrived from a child.
func arriving(child string, h func(w http.ResponseWriter, r *http.Request, space, site string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		space, site, err := Arrived(r.Header, child)
		if err != nil {
			WriteFault(w, exchange.FaultOf(err))
			return
		}
		h(w, r, space, site)
	})
}

// through returns what pods of a site ask, two relays below a home.
func through(t *testing.T, home func(w http.ResponseWriter, r *http.Request, space, site string)) *httptest.Server {
	t.Helper()
	top := tier(t, arriving("eu", home))
	middle := tier(t, arriving("paris", func(w http.ResponseWriter, r *http.Request, space, site string) {
		Forward(top, space, site).ServeHTTP(w, r)
	}))
	bottom := tier(t, arriving("store-1", func(w http.ResponseWriter, r *http.Request, space, site string) {
		Forward(middle, space, site).ServeHTTP(w, r)
	}))
	gateway := httptest.NewServer(Forward(bottom, "shop", ""))
	t.Cleanup(gateway.Close)
	return gateway
}

func ask(t *testing.T, method, url string, body io.Reader, header http.Header) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func read(t *testing.T, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The path of a site is made of proven names, and of a pod's headers only those that are known
// pass.
func TestARequestGoesUpThroughRelays(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", 64<<10)
	gateway := through(t, func(w http.ResponseWriter, r *http.Request, space, site string) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Warning", "299 - old")
		w.Header().Set("Set-Cookie", "a=b")
		fmt.Fprintf(w, "%s %s %s %s %q %v %d", space, site, r.Method, r.URL.RequestURI(), r.Header, r.Host, len(body))
		_, _ = w.Write(body)
	})
	header := http.Header{
		"Authorization": {"Bearer x"}, "Impersonate-User": {"alice"}, "Impersonate-Extra-A": {"1", "2"},
		"User-Agent": {"op"}, "Accept": {"application/json"}, "Content-Type": {"application/json"},
		"Cookie": {"c=d"}, "X-Forwarded-For": {"1.1.1.1"}, "X-Remote-User": {"root"}, "Skerry-Site": {"other"},
		"Skerry-Space": {"root"}, "Skerry-Ask": {"token"}, "Forwarded": {"for=1"}, "X-Request-Id": {"q"},
	}
	resp := ask(t, http.MethodPut, gateway.URL+"/api/v1/a%2Fb/c?watch=false&q=%20", strings.NewReader(large), header)
	got := read(t, resp)
	want := fmt.Sprintf("shop eu/paris/store-1 PUT /api/v1/a%%2Fb/c?watch=false&q=%%20 %q parent %d", http.Header{
		"Accept": {"application/json"}, "Authorization": {"Bearer x"}, "Content-Type": {"application/json"},
		"Content-Length": {fmt.Sprint(len(large))}, "Impersonate-Extra-A": {"1", "2"}, "Impersonate-User": {"alice"},
		"User-Agent": {"op"},
	}, len(large))
	got = strings.Replace(got, `"Connection":["close"] `, "", 1) // of the stream
	if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, large) {
		t.Errorf("asked\n%.600s, want\n%s", got, want)
	}
	if resp.Header.Get("Warning") == "" || resp.Header.Get("Set-Cookie") != "" {
		t.Errorf("answered %v", resp.Header)
	}
}

// What is read once may come at once; what is watched, followed or written is not worth memory beforehand.
func TestWhatHasAnEnd(t *testing.T) {
	for _, c := range []struct {
		method, query, upgrade string
		has                    bool
	}{
		{http.MethodGet, "", "", true},
		{http.MethodGet, "watch=false&limit=500", "", true},
		{http.MethodGet, "watch=true", "", false},
		{http.MethodGet, "watch=1", "", false},
		{http.MethodGet, "watch", "", false},
		{http.MethodGet, "follow=true", "", false},
		{http.MethodGet, "command=sh", "websocket", false},
		{http.MethodPost, "", "", false},
	} {
		r := httptest.NewRequest(c.method, "/api/v1/pods?"+c.query, nil)
		r.Header.Set("Upgrade", c.upgrade)
		if got := hasEnd(r); got != c.has {
			t.Errorf("%s ?%s %s: %t", c.method, c.query, c.upgrade, got)
		}
	}
}

// Events of a watch arrive while it goes on, and its end is known at the home.
func TestAWatch(t *testing.T) {
	next, ended := make(chan string), make(chan struct{})
	gateway := through(t, func(w http.ResponseWriter, r *http.Request, _, _ string) {
		defer close(ended)
		w.(http.Flusher).Flush()
		for {
			select {
			case event := <-next:
				_, _ = io.WriteString(w, event+"\n")
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	})
	resp := ask(t, http.MethodGet, gateway.URL+"/watch", nil, nil)
	lines := bufio.NewReader(resp.Body)
	for _, event := range []string{"one", "two"} {
		next <- event
		if got, err := lines.ReadString('\n'); err != nil || got != event+"\n" {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	resp.Body.Close()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("the home does not learn that nobody watches")
	}
}

// What an upgrade carries passes in both directions.
func TestAnUpgrade(t *testing.T) {
	gateway := through(t, func(w http.ResponseWriter, r *http.Request, _, _ string) {
		if r.Header.Get("Upgrade") != "SPDY/3.1" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
		line, _ := buffered.ReadString('\n')
		_, _ = io.WriteString(conn, "heard "+line)
	})
	resp := ask(t, http.MethodPost, gateway.URL+"/exec", nil,
		http.Header{"Connection": {"Upgrade"}, "Upgrade": {"SPDY/3.1"}})
	conn, ok := resp.Body.(io.ReadWriteCloser)
	if resp.StatusCode != http.StatusSwitchingProtocols || !ok {
		t.Fatalf("answered %s", resp.Status)
	}
	if _, err := io.WriteString(conn, "hello\n"); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); err != nil || string(got) != "heard hello\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

// opening fails to open streams.
type opening struct{ err error }

func (o opening) OpenStream(context.Context) (tunnel.Stream, error) { return nil, o.err }

// Without a way up the answer is that of an API server that is down, or that has no room.
func TestWithoutAWayUp(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
	}{
		{errors.New("cut off"), http.StatusServiceUnavailable},
		{context.DeadlineExceeded, http.StatusServiceUnavailable},
		{fmt.Errorf("open: %w", mux.ErrTooManyStreams), http.StatusTooManyRequests},
	} {
		w := httptest.NewRecorder()
		Forward(NewTransport(opening{c.err}), "shop", "").ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api", nil))
		if w.Code != c.code || w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(), `"kind":"Status"`) {
			t.Errorf("%v: %d %v %s", c.err, w.Code, w.Header(), w.Body)
		}
	}
	if _, err := AskToken(t.Context(), NewTransport(opening{errors.New("cut off")}), "shop", "",
		TokenRequest{}); exchange.FaultOf(err).Code != 503 {
		t.Errorf("a token: %v", err)
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	gateway := through(t, func(w http.ResponseWriter, r *http.Request, _, _ string) {
		http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
	})
	if resp := ask(t, http.MethodGet, gateway.URL, nil,
		nil); resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Location") != "" {
		t.Errorf("answered %s %v", resp.Status, resp.Header)
	}
}

func TestTokens(t *testing.T) {
	expires := time.Now().Add(time.Hour).Truncate(time.Second)
	up := tier(t, arriving("paris", func(w http.ResponseWriter, r *http.Request, space, site string) {
		if !IsTokenRequest(r.Header) || IsTokenRequest(r.Header) {
			t.Error("it is no request for a token, or one twice")
		}
		asked, err := ReadTokenRequest(r.Body)
		if err != nil || asked.Account == "nobody" {
			WriteFault(w, &exchange.Fault{Code: http.StatusForbidden, Reason: "Forbidden", Message: "no such workload"})
			return
		}
		WriteToken(w, Token{Token: strings.Join([]string{space, site, asked.Namespace, asked.Account}, " "),
			Expires: expires})
	}))
	got, err := AskToken(t.Context(), up, "shop", "store-1", TokenRequest{Namespace: "app", Account: "op"})
	if err != nil || got.Token != "shop paris/store-1 app op" || !got.Expires.Equal(expires) {
		t.Errorf("got %+v, %v", got, err)
	}
	var f *exchange.Fault
	_, err = AskToken(t.Context(), up, "shop", "", TokenRequest{Namespace: "app", Account: "nobody"})
	if !errors.As(err, &f) || f.Code != http.StatusForbidden || f.Message != "no such workload" {
		t.Errorf("refused with %v", err)
	}
	if _, err := AskToken(t.Context(), up, "shop", "", TokenRequest{Namespace: "../x", Account: "op"}); err == nil {
		t.Error("a namespace with a path in it")
	}
}

// A relay may name what is below it, in a form that can be nothing else.
func TestArrived(t *testing.T) {
	deep := strings.Repeat("a/", maxTiers-1)
	for _, c := range []struct {
		space, site string
		want        string
	}{
		{"shop", "", "eu"},
		{"shop", "paris", "eu/paris"},
		{"shop", "paris/store-1", "eu/paris/store-1"},
		{"", "", ""}, {"*", "", ""}, {"a/b", "", ""}, {"shop", "/", ""}, {"shop", "a//b", ""}, {"shop", "../x", ""},
		{"shop", "A", ""}, {"shop", deep + "a", ""}, {"shop", strings.Repeat("x", 300), ""},
	} {
		h := http.Header{}
		if c.space != "" {
			h.Set(headerSpace, c.space)
		}
		if c.site != "" {
			h.Set(headerSite, c.site)
		}
		space, site, err := Arrived(h, "eu")
		switch {
		case c.want == "" && !errors.Is(err, ErrRequest):
			t.Errorf("%q %q: %q, %v", c.space, c.site, site, err)
		case c.want != "" && (err != nil || site != c.want || space != c.space || len(h) > 0):
			t.Errorf("%q %q: %q, %v, left %v", c.space, c.site, site, err, h)
		}
	}
	twice := http.Header{headerSpace: {"shop", "other"}}
	if _, _, err := Arrived(twice, "eu"); err == nil {
		t.Error("two spaces")
	}
}

// A child that sends no request, or half of one, costs nothing for long.
func TestAStreamThatEnds(t *testing.T) {
	child, parent := pipe.New(pipe.Options{})
	defer child.Close(nil)
	defer parent.Close(nil)
	s, err := child.OpenStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write([]byte("GET / HTTP/1.1\r\nHost")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	accepted, err := parent.AcceptStream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		Server{Handler: http.NotFoundHandler()}.ServeStream(ctx, accepted)
	}()
	cancel()
	select {
	case <-done:
	case <-time.After(patience):
		t.Error("the stream outlives its connection")
	}
}

func FuzzArrived(f *testing.F) {
	f.Add("shop", "paris/store-1")
	f.Add("*", "../x")
	f.Fuzz(func(t *testing.T, space, site string) {
		h := http.Header{headerSpace: {space}, headerSite: {site}}
		got, path, err := Arrived(h, "eu")
		if err != nil {
			return
		}
		if got != space || path != "eu/"+site || strings.Count(path, "/") > maxTiers || strings.Contains(path, "//") ||
			strings.ContainsAny(space+path, " *%\\\r\n") || strings.Contains(space, "/") {
			t.Errorf("%q %q became %q %q", space, site, got, path)
		}
	})
}

func FuzzTokenRequest(f *testing.F) {
	f.Add([]byte(`{"namespace":"app","account":"op"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := ReadTokenRequest(bytes.NewReader(body))
		if err == nil && (!nameForm.MatchString(r.Namespace) || !nameForm.MatchString(r.Account)) {
			t.Errorf("%q became %+v", body, r)
		}
	})
}
