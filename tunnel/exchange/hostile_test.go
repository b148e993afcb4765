package exchange

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// sound is a request as RoundTrip sends it.
const sound = "POST /shop/web/app-1/log HTTP/1.1\r\nHost: target\r\nSkerry-Uid: u-1\r\nContent-Length: 0\r\n\r\n"

const soundView = "POST /shop/web//view?resource=pods&version=v1 HTTP/1.1\r\nHost: target\r\nContent-Length: 0\r\n\r\n"

const soundExec = "POST /shop/web/app-1/exec?command=sh HTTP/1.1\r\nHost: target\r\nSkerry-Uid: " +
	"u-1\r\nContent-Length: 0\r\n" +
	"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-Websocket-Version: " +
	"13\r\nSec-Websocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"

// hostile are requests that a site has to refuse, each made from a sound one.
func hostile() map[string]string {
	with := func(header string) string { return strings.Replace(sound, "\r\nHost", "\r\n"+header+"\r\nHost", 1) }
	path := func(p string) string { return strings.Replace(sound, "/shop/web/app-1/log", p, 1) }
	view := func(p string) string {
		return strings.Replace(soundView, "/shop/web//view?resource=pods&version=v1", p, 1)
	}
	exec := func(from, to string) string { return strings.Replace(soundExec, from, to, 1) }
	return map[string]string{
		"view that climbs":           view("/shop/..//view?resource=pods&version=v1"),
		"view of a Pod":              view("/shop/web/one/view?resource=pods&version=v1"),
		"view of nothing":            view("/shop/web//view"),
		"view without a version":     view("/shop/web//view?resource=pods"),
		"view of two":                view("/shop/web//view?resource=pods&resource=secrets&version=v1"),
		"view of a path":             view("/shop/web//view?resource=..%2fsecrets&version=v1"),
		"view of a name with a path": view("/shop/web//view?resource=pods&version=v1&name=..%2fx"),
		"view of a parent":           view("/shop/web//view?resource=pods&version=v1&name=.."),
		"view of a version's parent": view("/shop/web//view?resource=pods&version=.."),
		"view of a group's parent":   view("/shop/web//view?resource=pods&version=v1&group=.."),
		"view of metrics":            view("/shop///view?document=metrics"),
		"view that writes":           view("/shop/web//view?resource=pods&version=v1&dryRun=All"),
		"view with a UID":            strings.Replace(soundView, "Host", "Skerry-Uid: u-1\r\nHost", 1),
		"view with a body":           strings.Replace(soundView, "Length: 0\r\n\r\n", "Length: 2\r\n\r\n[]", 1),
		"view with another's rights": strings.Replace(soundView, "Host", "Impersonate-User: root\r\nHost", 1),
		"view with a limit in words": view("/shop/web//view?resource=pods&version=v1&limitBytes=all"),
		"view below a limit of 0":    view("/shop/web//view?resource=pods&version=v1&limitBytes=-1"),
		"space of two UIDs":          with("Skerry-Space-Uid: s-1\r\nSkerry-Space-Uid: s-2"),
		"space of a UID with a path": with("Skerry-Space-Uid: s/../1"),
		"trace of a log":             with("Skerry-Trace: ask"),
		"trace of an unknown word":   with("Skerry-Trace: tell"),
		"call of a Pod":              path("/shop/web/app-1/call"),
		"call as a Pod of a path":    strings.Replace(path("/shop/web/app-1/call?as=..%2fx"), "Skerry-Uid", "Skerry-Resource: services\r\nSkerry-Origin", 1),
		"path that climbs":           path("/shop/web/../log"),
		"path that climbs out":       path("/shop/../../kube-system/log"),
		"path that climbs, encoded":  path("/shop/web/%2e%2e/log"),
		"slash, encoded":             path("/shop/web/app-1%2f..%2fother/log"),
		"name with a slash, twice":   path("/shop/web/app-1%252fx/log"),
		"empty name":                 path("/shop/web//log"),
		"empty space":                path("//web/app-1/log"),
		"space of all":               path("/*/web/app-1/log"),
		"space in capitals":          path("/SHOP/web/app-1/log"),
		"name that ends the line":    path("/shop/web/app-1%0d%0aX:y/log"),
		"name with a question mark":  path("/shop/web/app-1%3fx/log"),
		"name with a zero":           path("/shop/web/app-1%00/log"),
		"name that is too long":      path("/shop/web/" + strings.Repeat("a", 254) + "/log"),
		"namespace that is too long": path("/shop/" + strings.Repeat("a", 64) + "/app-1/log"),
		"namespace with a dot":       path("/shop/we.b/app-1/log"),
		"another depth":              path("/shop/web/app-1/log/x"),
		"too shallow":                path("/shop/web/log"),
		"no slash":                   path("shop/web/app-1/log"),
		"another host's URL":         path("http://169.254.169.254/shop/web/app-1/log"),
		"URL without scheme":         path("//evil/shop/web/app-1/log"),
		"Kubernetes' own path":       path("/api/v1/namespaces/kube-system/secrets"),
		"another subresource":        path("/shop/web/app-1/proxy"),
		"status":                     path("/shop/web/app-1/status"),
		"binding":                    path("/shop/web/app-1/binding"),
		"verb in capitals":           path("/shop/web/app-1/LOG"),
		"no verb":                    path("/shop/web/app-1/"),
		"GET":                        strings.Replace(sound, "POST", "GET", 1),
		"CONNECT":                    strings.Replace(sound, "POST", "CONNECT", 1),
		"HTTP/1.0":                   strings.Replace(sound, "HTTP/1.1", "HTTP/1.0", 1),
		"HTTP/2":                     strings.Replace(sound, "HTTP/1.1", "HTTP/2.0", 1),
		"another host": strings.Replace(
			sound,
			"Host: target",
			"Host: kubernetes.default",
			1,
		),
		"impersonation":             with("Impersonate-User: system:admin"),
		"impersonated group":        with("Impersonate-Group: system:masters"),
		"impersonation, lower case": with("impersonate-user: system:admin"),
		"impersonated UID":          with("Impersonate-Uid: 0"),
		"extra of impersonation":    with("Impersonate-Extra-Scopes: all"),
		"front proxy's user":        with("X-Remote-User: system:admin"),
		"front proxy's group":       with("X-Remote-Group: system:masters"),
		"forwarded":                 with("Forwarded: for=127.0.0.1"),
		"forwarded for":             with("X-Forwarded-For: 127.0.0.1"),
		"cookie":                    with("Cookie: a=b"),
		"credentials":               with("Authorization: Bearer x"),
		"proxy credentials":         with("Proxy-Authorization: Basic x"),
		"expectation":               with("Expect: 100-continue"),
		"override of the method":    with("X-Http-Method-Override: DELETE"),
		"content type":              with("Content-Type: application/json"),
		"chunked body": strings.Replace(
			sound,
			"Content-Length: 0",
			"Transfer-Encoding: chunked",
			1,
		),
		"two lengths":       with("Content-Length: 5"),
		"length and chunks": with("Transfer-Encoding: chunked"),
		"body that a log has not": strings.Replace(
			sound,
			"Content-Length: 0",
			"Content-Length: 4",
			1,
		) + "body",
		"body that is too large": strings.Replace(
			path("/shop/web/app-1/ephemeralcontainers"),
			"Content-Length: 0",
			"Content-Length: 65537",
			1,
		),
		"length below zero": strings.Replace(
			sound,
			"Content-Length: 0",
			"Content-Length: -1",
			1,
		),
		"debugging without a body": path("/shop/web/app-1/ephemeralcontainers"),
		"no UID":                   strings.Replace(sound, "Skerry-Uid: u-1\r\n", "", 1),
		"two UIDs":                 with("Skerry-Uid: u-2"),
		"UID and origin":           with("Skerry-Origin: u-2"),
		"UID that is a path":       strings.Replace(sound, "u-1", "../x", 1),
		"user twice":               with("Skerry-User: a\r\nSkerry-User: b"),
		"user that is not encoded": with("Skerry-User: %zz"),
		"user that is too long":    with("Skerry-User: " + strings.Repeat("a", 1025)),
		"too many groups": with(
			strings.TrimSuffix(strings.Repeat("Skerry-Group: g\r\n", 33), "\r\n"),
		),
		"path down that climbs":    with("Skerry-Path: oslo/../bergen"),
		"path down without a name": with("Skerry-Path: oslo//bergen"),
		"path down without an end": with("Skerry-Path: " + strings.Repeat("a/", 17) + "a"),
		"timeout that is none":     with("Skerry-Timeout: soon"),
		"timeout below zero":       with("Skerry-Timeout: -1"),
		"folded line":              with("X-A: b\r\n c: d"),
		"space before the colon":   with("Skerry-User : a"),
		"line without a colon":     with("nonsense"),
		"unknown option": path(
			"/shop/web/app-1/log?insecureSkipTLSVerifyBackend=true",
		),
		"option of another verb":       path("/shop/web/app-1/log?command=sh"),
		"option that is no number":     path("/shop/web/app-1/log?tailLines=-1"),
		"option that is no time":       path("/shop/web/app-1/log?sinceTime=now"),
		"option twice":                 path("/shop/web/app-1/log?container=a&container=b"),
		"container that is a path":     path("/shop/web/app-1/log?container=../x"),
		"query that cannot be read":    path("/shop/web/app-1/log?a;b"),
		"query, badly encoded":         path("/shop/web/app-1/log?container=%zz"),
		"port that is none":            exec("exec?command=sh", "portforward?ports=0"),
		"port beyond all":              exec("exec?command=sh", "portforward?ports=65536"),
		"log with an upgrade":          exec("exec?command=sh", "log"),
		"exec without an upgrade":      path("/shop/web/app-1/exec?command=sh"),
		"deletion with an upgrade":     exec("exec?command=sh", "delete"),
		"deletion, propagated at will": path("/shop/web/app-1/delete?propagationPolicy=All"),
		"upgrade to HTTP/2":            exec("Upgrade: websocket", "Upgrade: h2c"),
		"upgrade to TLS":               exec("Upgrade: websocket", "Upgrade: TLS/1.0"),
		"upgrade to two":               exec("Upgrade: websocket", "Upgrade: websocket, h2c"),
		"upgrade twice": exec(
			"Upgrade: websocket",
			"Upgrade: websocket\r\nUpgrade: SPDY/3.1",
		),
		"upgrade without Connection":   exec("Connection: Upgrade\r\n", ""),
		"Connection without upgrade":   exec("Upgrade: websocket\r\n", ""),
		"another version of WebSocket": exec("Version: 13", "Version: 8"),
		"no key":                       exec("Sec-Websocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n", ""),
		"key that is none":             exec("AAAAAAAAAAAAAAAAAAAAAA==", "x"),
		"head without an end": strings.TrimSuffix(
			with("X: "+strings.Repeat("a", maxHead)),
			"\r\n\r\n",
		),
		"headers without an end": "POST /shop/web/app-1/log HTTP/1.1\r\n" + strings.Repeat(
			"A: b\r\n",
			maxHead/6+1,
		),
		"request line without an end": "POST /" + strings.Repeat("a", maxHead),
		"nothing of HTTP": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat(
			"\x00",
			64,
		) + "\r\n\r\n",
		"preface of HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	}
}

// TestHostileRequests: nobody is asked for what breaks a rule, and whoever sent it is told so.
func TestHostileRequests(t *testing.T) {
	if n := len(hostile()); n < 60 {
		t.Errorf("only %d cases", n)
	}
	for name, text := range hostile() {
		t.Run(name, func(t *testing.T) {
			parent, child := pair(t)
			done := make(chan error, 1)
			go func() {
				done <- Serve(t.Context(), child, func(context.Context, *Request) (*http.Response, error) {
					t.Error("somebody was asked")
					return nil, errors.New("no")
				})
			}()
			go func() {
				_, _ = io.WriteString(parent, text)
				_ = parent.Close()
			}()
			_ = parent.SetDeadline(time.Now().Add(time.Minute))
			answer, _ := io.ReadAll(parent)
			if !strings.HasPrefix(string(answer), "HTTP/1.1 4") &&
				!strings.HasPrefix(string(answer), "HTTP/1.1 502") {
				t.Errorf("answered %.200q", answer)
			}
			<-done
		})
	}
}

// TestSoundRequests: the texts that the hostile ones are made from pass.
func TestSoundRequests(t *testing.T) {
	for _, text := range []string{sound, soundExec} {
		if _, _, err := Read(strings.NewReader(text)); err != nil {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

// TestHostileAnswers: an answer that was not asked for reaches no client.
func TestHostileAnswers(t *testing.T) {
	const body = "Content-Length: 0\r\n\r\n"
	up := "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
	for name, c := range map[string]struct {
		ask  *Request
		text string
	}{
		"redirect":                     {logOf(false), "HTTP/1.1 302 Found\r\nLocation: http://evil/\r\n" + body},
		"redirect for good":            {execOf("sh"), "HTTP/1.1 308 Permanent Redirect\r\nLocation: /\r\n" + body},
		"not modified":                 {logOf(false), "HTTP/1.1 304 Not Modified\r\n" + body},
		"upgrade that nobody wanted":   {logOf(false), up + "\r\n"},
		"upgrade to something else":    {execOf("sh"), strings.Replace(up, "websocket", "h2c", 1) + "\r\n"},
		"upgrade to another protocol":  {execOf("sh"), strings.Replace(up, "websocket", "SPDY/3.1", 1) + "\r\n"},
		"upgrade without Connection":   {execOf("sh"), strings.Replace(up, "Connection: Upgrade\r\n", "", 1) + "\r\n"},
		"upgrade twice":                {execOf("sh"), up + "Upgrade: websocket\r\n\r\n"},
		"subprotocol that was not had": {execOf("sh"), up + "Sec-WebSocket-Protocol: v4.channel.k8s.io\r\n\r\n"},
		"two subprotocols": {execOf("sh"), up +
			"Sec-WebSocket-Protocol: v5.channel.k8s.io, v5.channel.k8s.io\r\n\r\n"},
		"stream version of SPDY":  {execOf("sh"), up + "X-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n"},
		"continue":                {logOf(false), "HTTP/1.1 100 Continue\r\n\r\n"},
		"early hints":             {logOf(false), "HTTP/1.1 103 Early Hints\r\n\r\n"},
		"code of four digits":     {logOf(false), "HTTP/1.1 2000 OK\r\n" + body},
		"code beyond all":         {logOf(false), "HTTP/1.1 999 Odd\r\n" + body},
		"no HTTP":                 {logOf(false), "hello\r\n\r\n"},
		"head without an end":     {logOf(false), "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", maxHead)},
		"headers without an end":  {logOf(false), "HTTP/1.1 200 OK\r\n" + strings.Repeat("A: b\r\n", maxHead/6+1)},
		"site that is a path":     {logOf(false), "HTTP/1.1 200 OK\r\nSkerry-Site: ../x\r\n" + body},
		"site that ends the line": {logOf(false), "HTTP/1.1 200 OK\r\nSkerry-Site: a b\r\n" + body},
	} {
		t.Run(name, func(t *testing.T) {
			parent, child := pair(t)
			go func() {
				_, _, _ = Read(child)
				_, _ = io.WriteString(child, c.text)
				_ = child.Close()
			}()
			resp, err := RoundTrip(t.Context(), parent, c.ask)
			if err == nil {
				resp.Body.Close()
				t.Fatalf("it passed with %d", resp.StatusCode)
			}
			if !errors.Is(err, ErrAnswer) {
				t.Errorf("%v, which is no ErrAnswer", err)
			}
		})
	}
}

// TestAnswersLoseHeaders: of an answer nothing passes but what the allow-list has.
func TestAnswersLoseHeaders(t *testing.T) {
	h, err := passing(
		nil,
		http.StatusOK,
		http.Header{"Content-Type": {"text/plain"}, "Set-Cookie": {"a=b"}, "Location": {"/"},
			"Www-Authenticate": {
				"Basic",
			}, "Retry-After": {"1"}, "Warning": {"299"}, "Upgrade": {"h2c"}, "Audit-Id": {"x"}},
	)
	if err != nil || len(h) != 2 || h.Get("Content-Type") == "" || h.Get("Retry-After") == "" {
		t.Errorf("%v, %v", h, err)
	}
}

// TestUpgrade: what passes of the headers of a client.
func TestUpgrade(t *testing.T) {
	base := execOf("sh").Upgrade
	client := func(more http.Header) http.Header {
		h := base.Clone()
		for k, v := range more {
			h[k] = v
		}
		return h
	}
	for name, more := range map[string]http.Header{
		"token as a subprotocol": {"Sec-Websocket-Protocol": {
			"base64url.bearer.authorization.k8s.io.c2VjcmV0, v5.channel.k8s.io"}},
		"token in a line apart": {"Sec-Websocket-Protocol": {"v5.channel.k8s.io",
			"base64url.bearer.authorization.k8s.io.c2VjcmV0"}},
		"credentials": {"Authorization": {"Bearer c2VjcmV0"}, "Cookie": {"c2VjcmV0"}, "Proxy-Authorization": {"c2VjcmV0"}},
		"identity":    {"Impersonate-User": {"c2VjcmV0"}, "X-Remote-User": {"c2VjcmV0"}, "Forwarded": {"c2VjcmV0"}},
		"extensions":  {"Sec-Websocket-Extensions": {"permessage-deflate; c2VjcmV0"}, "Origin": {"c2VjcmV0"}},
		"hops":        {"Connection": {"Upgrade, c2VjcmV0"}, "Te": {"c2VjcmV0"}, "Trailer": {"c2VjcmV0"}},
	} {
		got, err := Upgrade(client(more))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for k, v := range got {
			if len(v) != 1 || v[0] != base.Get(k) {
				t.Errorf("%s: %s: %q", name, k, v)
			}
		}
		if len(got) != len(base) {
			t.Errorf("%s: %v", name, got)
		}
	}
	spdy, err := Upgrade(
		http.Header{
			"Connection":                {"upgrade"},
			"Upgrade":                   {"SPDY/3.1"},
			"X-Stream-Protocol-Version": {"v4.channel.k8s.io", "evil", "channel.k8s.io"},
		},
	)
	if err != nil ||
		strings.Join(spdy["X-Stream-Protocol-Version"], " ") != "v4.channel.k8s.io channel.k8s.io" {
		t.Errorf("SPDY: %v, %v", spdy, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(sound)
	f.Add(soundExec)
	f.Add(soundView)
	f.Add("POST /shop/web/app-1/connect?port=8443 HTTP/1.1\r\nHost: target\r\nSkerry-Uid: u-1\r\n" +
		"Connection: Upgrade\r\nUpgrade: skerry-bytes\r\nContent-Length: 0\r\n\r\n")
	for _, text := range hostile() {
		if len(text) < 1000 {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, _, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		again, err := r.encode()
		if err != nil {
			t.Fatalf("read what cannot be sent: %+v: %v", r, err)
		}
		if _, _, err := Read(strings.NewReader(string(again))); err != nil {
			t.Fatalf("sent what cannot be read: %q: %v", again, err)
		}
	})
}

func FuzzAnswer(f *testing.F) {
	f.Add("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nSkerry-Site: a/b\r\n\r\nhi")
	f.Add("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	f.Add("HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n")
	asked := execOf("sh").Upgrade
	allowed := map[string]bool{"Content-Type": true, "Retry-After": true, HeaderSite: true,
		headerConnection: true, headerUpgrade: true, headerProtocol: true, headerAccept: true}
	f.Fuzz(func(t *testing.T, text string) {
		for _, upgrade := range []http.Header{nil, asked, Bytes()} {
			resp, _, err := readAnswer(strings.NewReader(text), upgrade)
			if err != nil {
				continue
			}
			if resp.StatusCode == 101 && upgrade == nil || resp.StatusCode/100 == 3 {
				t.Fatalf("%d passed", resp.StatusCode)
			}
			for name := range resp.Header {
				if !allowed[name] {
					t.Fatalf("header %s passed", name)
				}
			}
		}
	})
}
