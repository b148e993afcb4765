package server_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// request is one as bytes. watches tells that its answer may go on for ever.
type request struct {
	text    string
	watches bool
}

// answer records what the API says to one request. Where the connection is taken over it keeps what
// is sent there.
type answer struct {
	request  string
	mu       sync.Mutex
	header   http.Header
	code     int
	body     bytes.Buffer
	hijacked net.Conn
	read     chan struct{}
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(code int) {
	if a.code == 0 {
		a.code = code
	}
}

// Write implements http.ResponseWriter.
func (a *answer) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.body.Write(b)
}

// Flush implements http.Flusher.
func (a *answer) Flush() {}

// CloseNotify implements http.CloseNotifier, which Kubernetes' watches ask for.
func (a *answer) CloseNotify() <-chan bool { return nil }

// Hijack implements http.Hijacker.
func (a *answer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	ours, theirs := net.Pipe()
	read := make(chan struct{})
	a.mu.Lock()
	a.hijacked, a.read = ours, read
	a.mu.Unlock()
	go func() { defer close(read); io.Copy(a, ours) }()
	return theirs, bufio.NewReadWriter(bufio.NewReader(theirs), bufio.NewWriter(theirs)), nil
}

// hangUp closes a connection that was taken over, and returns what is closed when all of it was
// read; nil where none was.
func (a *answer) hangUp() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.hijacked != nil {
		a.hijacked.Close()
	}
	return a.read
}

func (a *answer) bytes() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.body.Bytes())
}

// watchTime is how long the answer to a request that watches is listened to: what exists comes at
// once.
const watchTime = 15 * time.Millisecond

// put sends a request in the name of somebody, as a server would that has parsed it. A request that
// no server parses is answered with 400.
func (w *world) put(h http.Handler, who identity, q request) *answer {
	a := &answer{request: q.text, header: http.Header{}}
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(q.text)))
	if err != nil {
		a.code = http.StatusBadRequest
		return a
	}
	limit := 30 * time.Second
	if q.watches {
		limit = watchTime
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), limit)
	defer cancel()
	r = r.WithContext(ctx)
	r.TLS, r.RemoteAddr = who.tls, "127.0.0.1:9"
	switch {
	case who.site != "":
		r.Header.Set("Authorization", "Bearer "+who.bot.atSite)
	case who.bot != nil:
		r.Header.Set("Authorization", "Bearer "+who.bot.bearer)
	}
	stop := context.AfterFunc(ctx, func() { a.hangUp() })
	defer stop()
	aborted := w.serve(h, a, r)
	if read := a.hangUp(); read != nil {
		<-read
	}
	if ctx.Err() != nil && !q.watches {
		w.t.Errorf("no answer within %s: %.300q", limit, q.text)
	}
	if aborted { // parts of the API may still be at work on it
		cut := &answer{request: q.text, header: http.Header{}}
		cut.Write(a.bytes())
		return cut
	}
	return a
}

// serve does what a server does when the API breaks off: nothing but closing the connection. That a
// request makes the API panic is a fault, too.
func (w *world) serve(h http.Handler, a *answer, r *http.Request) (aborted bool) {
	defer func() {
		if p := recover(); p != nil {
			if p != http.ErrAbortHandler {
				w.t.Errorf("panic: %.300v\n%.600q", p, a.request)
			}
			aborted = true
		}
	}()
	h.ServeHTTP(a, r)
	return false
}

// judge looks for what must not be in an answer.
func (w *world) judge(p phase, a *answer) {
	body := a.bytes()
	if a.header.Get("Content-Encoding") == "gzip" {
		if z, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
			body, _ = io.ReadAll(z)
		}
	}
	shown := append(fmt.Append(nil, a.header), body...)
	for s, token := range w.whose(shown, a.request) {
		if s == p.space && p.who.may(s.name) {
			w.ownReads.Add(1)
			if p.who.site != "" {
				w.siteReads.Add(1)
			}
			continue
		}
		w.escape(
			"%s, whose request named space %s, read %s of %s\n%.600q\n%d %.300q",
			p.who.name,
			p.space.name,
			token,
			s.name,
			a.request,
			a.code,
			body,
		)
	}
	if bytes.Contains(body, []byte("/registry/")) && !strings.Contains(a.request, "/registry/") ||
		bytes.Contains(body, []byte("invalid key: ")) {
		w.escape(
			"%s, whose request named space %s, was shown a storage key\n%.600q\n%d %.300q",
			p.who.name,
			p.space.name,
			a.request,
			a.code,
			body,
		)
	}
	if bytes.Contains(body, []byte(`"authenticated":true`)) && !strings.Contains(a.request, p.space.bearer) {
		w.escape("%s: space %s took a token of another space\n%.600q", p.who.name, p.space.name, a.request)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.who.may(p.space.name) {
		w.codes[a.code]++
	}
}

func (w *world) statuses() map[int]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.codes
}

// watch keeps watches of a space open as the admin, in several formats, and judges every event.
func (w *world) watch(ctx context.Context, all *sync.WaitGroup, h http.Handler, s *prey) {
	for path, accept := range map[string]string{
		"/api/v1/configmaps":                           "application/json",
		"/api/v1/secrets":                              "application/vnd.kubernetes.protobuf;stream=watch",
		"/apis/apps/v1/namespaces/default/deployments": "application/json;as=Table;v=v1;g=meta.k8s.io",
		"/apis/example.com/v1/widgets":                 "application/json",
	} {
		if s.name != "root" {
			path = "/clusters/" + s.name + path
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, path+"?watch=1&allowWatchBookmarks=1", nil)
		must(w.t, err)
		r.RequestURI, r.TLS, r.RemoteAddr = r.URL.RequestURI(), w.identities[0].tls, "127.0.0.1:9"
		r.Header.Set("Accept", accept)
		a := &answer{request: "watch " + path, header: http.Header{}}
		all.Go(func() {
			h.ServeHTTP(a, r)
			w.judge(phase{s, w.identities[0]}, a)
		})
	}
}

// named is the space that a request's target names, decided without the product's code: the segment
// behind /clusters/ of the decoded path, root where there is none, "" where the target cannot be
// decoded.
func named(target string) string {
	if _, rest, ok := strings.Cut(target, "://"); ok && !strings.HasPrefix(target, "/") {
		_, target, _ = strings.Cut(rest, "/")
		target = "/" + target
	}
	target, _, _ = strings.Cut(target, "?")
	decoded, err := url.PathUnescape(target)
	if err != nil {
		return ""
	}
	below, ok := strings.CutPrefix(decoded, "/clusters/")
	if !ok {
		return "root"
	}
	space, _, _ := strings.Cut(below, "/")
	return space
}
