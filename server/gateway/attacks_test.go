package gateway

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/tunneltest"
	"skerry.dev/skerry/tunnel/upward"
)

// asked is what reached the API of a center.
type asked struct{ space, site, path string }

// judge is the API of one center, which remembers what it is asked.
type judge struct {
	mu     sync.Mutex
	asked  []asked
	issued []string
}

func (j *judge) FromSite(space, site string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.asked = append(j.asked, asked{space, site, r.URL.Path})
		for _, name := range []string{"Skerry-Space", "Skerry-Site", "Skerry-Ask"} {
			if r.Header.Get(name) != "" {
				j.asked = append(j.asked, asked{"header", name, r.Header.Get(name)})
			}
		}
	})
}

func (j *judge) IssueForSite(_ context.Context, space, namespace, account, site string) (string, time.Time, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.issued = append(j.issued, space+" "+namespace+"/"+account+" "+site)
	if site == "" {
		return "", time.Time{}, errors.New("no site")
	}
	return "t", time.Now().Add(time.Hour), nil
}

func (*judge) Issued(token string) bool { return token == "mine" }

func (j *judge) take() ([]asked, []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	a, i := j.asked, j.issued
	j.asked, j.issued = nil, nil
	return a, i
}

// below returns how the child of a center with this API opens streams to it.
func below(
	t *testing.T,
	api API,
	child string,
	parent upward.Opener,
	runs func(target, space, ns, account string) (bool, bool),
) upward.Opener {
	t.Helper()
	g := New(Config{API: api, Runs: runs, Parent: parent, Log: slog.New(slog.DiscardHandler)})
	return tunneltest.ServeStreams(t, g.For(tunnel.Identity{Target: child}))
}

// TestATakenOverAgent: an agent whose certificate is good and whose program is somebody else's
// speaks for its own site, and for sites that it might have below it, and gets tokens of accounts
// that run there.
func TestATakenOverAgent(t *testing.T) {
	top, relay := &judge{}, &judge{}
	runs := func(target, space, ns, account string) (bool, bool) {
		return target == "nordic" && space == "shop" && ns == "app" && account == "op", false
	}
	passed := func(target, space, ns, account string) (bool, bool) {
		return false, target == "oslo" && space == "shop" && ns == "app" && account != "unknown"
	}
	site := below(t, relay, "oslo", below(t, top, "nordic", nil, runs), passed)
	tries := 0
	sendAs := func(text string, whole bool) (int, string) {
		t.Helper()
		tries++
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s, err := site.OpenStream(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Cancel()
		_, _ = io.WriteString(s, text) // it may be answered before it is read
		if !whole {
			_ = s.Close() // who has sent a request waits for the answer
		}
		resp, err := http.ReadResponse(bufio.NewReader(s), nil)
		if err != nil {
			return 0, ""
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body)
	}
	send := func(text string) (int, string) { t.Helper(); return sendAs(text, true) }
	check := func(what string, most int) {
		t.Helper()
		atTop, issuedAtTop := top.take()
		atRelay, issuedAtRelay := relay.take()
		for _, a := range atTop {
			if a.site != "nordic/oslo" && !strings.HasPrefix(a.site, "nordic/oslo/") {
				t.Errorf("%.100q: the center was asked as %+v", what, a)
			}
		}
		for _, a := range atRelay {
			if a.site != "oslo" && !strings.HasPrefix(a.site, "oslo/") {
				t.Errorf("%.100q: the relay was asked as %+v", what, a)
			}
		}
		if len(atTop)+len(atRelay) > most || len(issuedAtRelay) > 0 {
			t.Errorf("%.100q: %v %v %v", what, atTop, atRelay, issuedAtRelay)
		}
		for _, i := range issuedAtTop {
			if !strings.HasPrefix(i, "shop app/op nordic/oslo") {
				t.Errorf("%.100q: a token for %s", what, i)
			}
		}
	}
	for _, token := range []string{"mine", "of another", ""} {
		for _, heads := range []string{
			"Skerry-Site: ", "Skerry-Site: paris", "Skerry-Site: ../paris", "Skerry-Site: /paris",
			"Skerry-Site: paris/", "Skerry-Site: paris//x",
			"Skerry-Site: .", "Skerry-Site: ..", "Skerry-Site: a/../../paris", "Skerry-Site: a%2f..%2fparis",
			"Skerry-Site: PARIS", "Skerry-Site: a,b",
			"Skerry-Site: a\r\nSkerry-Site: b", "Skerry-Site: " + strings.Repeat("a/", 20) + "a",
			"Skerry-Site: " + strings.Repeat("a", 300),
			"Skerry-Site: a\tb", "Skerry-Site: a\x00b", "Skerry-Site: nordic/paris", "Skerry-Space: other",
			"Skerry-Space: ", "Skerry-Space: *", "Skerry-Space: shop/../other",
			"Skerry-Target: paris", "Skerry-Uid: x", "X-Remote-User: admin", "X-Forwarded-For: x",
			"Connection: Skerry-Site", "Connection: Upgrade, Skerry-Site\r\nUpgrade: x",
			"Transfer-Encoding: chunked\r\nTrailer: Skerry-Site\r\n\r\n0\r\nSkerry-Site: paris",
		} {
			send("GET /api HTTP/1.1\r\nHost: parent\r\nSkerry-Space: shop\r\nAuthorization: Bearer " + token +
				"\r\n" + heads + "\r\n\r\n")
			check(heads, 1)
		}
	}
	for _, text := range []string{
		"GET /api HTTP/1.1\r\nHost: x\r\nSkerry-Space: shop\r\n\r\nGET /second HTTP/1.1\r\nHost: x\r\nSkerry-Space: other\r\n\r\n",
		"GET /api HTTP/1.1\r\nHost: x\r\nSkerry-Space: shop\r\nConnection: keep-alive\r\n\r\nGET /second HTTP/1.1\r\nHost: x\r\nSkerry-Space: other\r\n\r\n",
		"POST /api HTTP/1.1\r\nHost: x\r\nSkerry-Space: shop\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /second HTTP/1.1\r\n\r\n",
		"GET https://center.test/clusters/other/api HTTP/1.1\r\nHost: x\r\nSkerry-Space: shop\r\n\r\n",
		"CONNECT center.test:443 HTTP/1.1\r\nHost: center.test:443\r\nSkerry-Space: shop\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: x\r\nSkerry-Space: shop\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET /api HTTP/1.0\r\nSkerry-Space: shop\r\n\r\n", "GET /api\r\n\r\n",
		"\x00\x01\x02", "",
		"GET /" + strings.Repeat("a", 2<<20) + " HTTP/1.1\r\nHost: x\r\nSkerry-Space: shop\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nSkerry-Space: shop\r\nX-A: " + strings.Repeat("a", 2<<20) + "\r\n\r\n",
	} {
		sendAs(text, false)
		check(text, 1)
	}
	ask := func(heads, body string) (int, string) {
		return send(fmt.Sprintf("POST / HTTP/1.1\r\nHost: parent\r\nSkerry-Ask: token\r\n%sContent-Length: %d\r\n\r\n%s", heads, len(body), body))
	}
	shop, own := "Skerry-Space: shop\r\n", `{"namespace":"app","account":"op"}`
	if code, body := ask(shop, own); code != http.StatusOK {
		t.Fatalf("its own token: %d %s", code, body)
	}
	check("its own", 0)
	for _, c := range []struct{ heads, body string }{
		{shop, `{"namespace":"app","account":"unknown"}`}, {shop, `{"namespace":"app","account":"stray"}`},
		{shop, `{"namespace":"kube-system","account":"op"}`},
		{shop, `{"namespace":"app","account":"default"}`}, {shop, `{"namespace":"app/../app","account":"op"}`},
		{shop, `{"namespace":"app","account":"../op"}`},
		{shop, `{"namespace":"app","account":"*"}`}, {shop, `{"namespace":"*","account":"op"}`},
		{shop, `{"namespace":"","account":"op"}`},
		{shop, `{"namespace":"app","account":""}`}, {shop, `{"namespace":"app","account":["op"]}`},
		{shop, `{"namespace":"APP","account":"op"}`},
		{shop, `{"namespace":"app","account":"op:x"}`}, {shop, `{"namespace":"app","account":"op\u0000"}`},
		{shop, `[]`}, {shop, `null`}, {shop, ``}, {shop, `{`},
		{shop, `{"namespace":"app","account":"op","space":"other","site":"paris"}x`}, {shop, own + own},
		{shop, `{"a":"` + strings.Repeat("x", 70<<10) + `","namespace":"app","account":"op"}`},
		{"Skerry-Space: other\r\n", own}, {"Skerry-Space: root\r\n", own}, {"Skerry-Space: *\r\n", own},
		{"Skerry-Space: shop-b\r\n", own}, {"Skerry-Space: sho\r\n", own},
		{"", own}, {shop + "Skerry-Space: other\r\n", own}, {"Skerry-Space: other\r\n" + shop, own},
		{shop + "Skerry-Site: ../paris\r\n", own},
		{shop + "Skerry-Site: a\r\nSkerry-Site: b\r\n", own}, {"Skerry-Space: shop,other\r\n", own},
	} {
		if code, body := ask(c.heads, c.body); code < 400 {
			t.Errorf("%q %.100q is answered with %d %s", c.heads, c.body, code, body)
		}
		check(c.heads+c.body, 0)
	}
	t.Logf("%d tries", tries)
}
