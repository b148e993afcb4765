package upward

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"skerry.dev/skerry/tunnel/exchange"
)

// echo answers a call with what it gets, until that ends.
func echo(t *testing.T) (at io.ReadWriteCloser) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if conn, err := l.Accept(); err == nil {
			_, _ = io.Copy(conn, conn)
			conn.Close()
		}
	}()
	at, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		at.Close()
		l.Close()
		<-done
	})
	return at
}

var webCall = ServiceCall{Namespace: "app", Service: "web", UID: "u-1", Port: 80,
	Caller: `{"namespace":"front","labels":{"app":"front"},"address":"10.42.0.5"}`}

// A call goes through relays' own calls to whatever answers, whole in both directions, and each half ends by
// itself.
func TestACall(t *testing.T) {
	pod := echo(t)
	up := tier(t, arriving("paris", func(w http.ResponseWriter, r *http.Request, space, site string) {
		c, err := ReadServiceCall(r)
		if !IsServiceCall(r.Header) || err != nil || c != webCall || space != "shop" || site != "paris/store-1" {
			t.Errorf("asked for %v by %s of %s: %v", c, site, space, err)
		}
		if err := AnswerServiceCall(w, r, pod); err != nil {
			t.Error(err)
		}
	}))
	conn, err := Call(t.Context(), up, "shop", "store-1", webCall)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	text := strings.Repeat("hello ", 50_000)
	go func() {
		_, _ = io.WriteString(conn, text)
		_ = conn.(exchange.CloseWriter).CloseWrite()
	}()
	if got, err := io.ReadAll(conn); err != nil || string(got) != text {
		t.Errorf("%d bytes of %d came back: %v", len(got), len(text), err)
	}
}

// A Pod of a Service is named, and what cannot be the name of one is refused.
func TestACallOfAHost(t *testing.T) {
	for host, good := range map[string]bool{"db-0": true, "": true, "db.0": false, "a/b": false, "-": false} {
		c := webCall
		c.Host = host
		r := &http.Request{Header: http.Header{headerService: {c.String()}, "Connection": {"Upgrade"}}}
		for name, values := range exchange.Bytes() {
			r.Header[name] = values
		}
		got, err := ReadServiceCall(r)
		c.Caller = ""
		if good != (err == nil) || good && got != c {
			t.Errorf("%q: %v %v", host, got, err)
		}
	}
}

// A refusal says why.
func TestACallThatIsRefused(t *testing.T) {
	up := tier(t, arriving("paris", func(w http.ResponseWriter, _ *http.Request, _, _ string) {
		WriteFault(w, &exchange.Fault{Code: http.StatusServiceUnavailable, Reason: "ServiceUnavailable", Message: "nobody"})
	}))
	var f *exchange.Fault
	if _, err := Call(t.Context(), up, "shop", "", webCall); !errors.As(err, &f) || f.Code != 503 || f.Message != "nobody" {
		t.Errorf("refused with %v", err)
	}
	if _, err := Call(t.Context(), NewTransport(opening{errors.New("cut off")}), "shop", "", webCall); !errors.As(err, &f) {
		t.Errorf("without a parent: %v", err)
	}
}

// A call names one Service and nothing else.
func TestReadServiceCall(t *testing.T) {
	for _, text := range []string{"", "app/web/u-1", "app/web/u-1/0", "app/web/u-1/65536", "app/web/u-1/+80", "app/web/u-1/080",
		"app/web/u-1/80/", "../web/u-1/80", "app//u-1/80", "app/web//80", "app/web/u 1/80", "App/web/u-1/80",
		"app/web/" + strings.Repeat("u", 65) + "/80"} {
		if c, err := readCall(text); !errors.Is(err, ErrRequest) {
			t.Errorf("%q is %v, %v", text, c, err)
		}
	}
	if c, err := readCall(webCall.String()); err != nil || c != webCall {
		t.Errorf("it is %v, %v", c, err)
	}
	r := &http.Request{Header: exchange.Bytes()}
	r.Header[headerService] = []string{webCall.String(), webCall.String()}
	if _, err := ReadServiceCall(r); err == nil {
		t.Error("two Services")
	}
	r = &http.Request{Header: http.Header{headerService: {webCall.String()}}}
	if _, err := ReadServiceCall(r); err == nil {
		t.Error("a call that does not upgrade")
	}
}

// A call says whether a relay's own targets have been asked.
func TestACallOfARelay(t *testing.T) {
	for _, own := range []bool{true, false} {
		up := tier(t, arriving("paris", func(w http.ResponseWriter, r *http.Request, _, _ string) {
			if c, err := ReadServiceCall(r); err != nil || c.Own != own {
				t.Errorf("own asked %v: %+v, %v", own, c, err)
			}
			WriteFault(w, &exchange.Fault{Code: http.StatusServiceUnavailable, Message: "nobody"})
		}))
		c := webCall
		c.Own = own
		if _, err := Call(t.Context(), up, "shop", "store-1", c); err == nil {
			t.Error("somebody answers")
		}
	}
}

// A call comes from one Pod, or from nobody who is known.
func TestTheCallerOfACall(t *testing.T) {
	for text, want := range map[string]string{webCall.Caller: webCall.Caller, "": "error", "{}": "error"} {
		r := &http.Request{Header: exchange.Bytes()}
		r.Header[headerService], r.Header[headerCaller] = []string{webCall.String()}, []string{text}
		if c, err := ReadServiceCall(r); (err != nil) != (want == "error") || err == nil && c != webCall {
			t.Errorf("%q: %v, %v", text, c, err)
		}
		r.Header[headerCaller] = []string{webCall.Caller, webCall.Caller}
		if _, err := ReadServiceCall(r); err == nil {
			t.Error("two callers")
		}
	}
}

func readCall(text string) (ServiceCall, error) {
	r := &http.Request{Header: exchange.Bytes()}
	r.Header[headerService], r.Header[headerCaller] = []string{text}, []string{webCall.Caller}
	return ReadServiceCall(r)
}

func FuzzServiceCall(f *testing.F) {
	f.Add([]byte(webCall.String()))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := readCall(string(text))
		if err == nil && (c.String() != string(text) || c.Port == 0 || bytes.ContainsAny(text, " \r\n%")) {
			t.Errorf("%q became %v", text, c)
		}
	})
}
