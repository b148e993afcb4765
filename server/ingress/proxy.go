package ingress

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"skerry.dev/skerry/tunnel/exchange"
)

// proxy passes requests to backends.
type proxy struct {
	cfg      *Config
	table    *atomic.Pointer[Table]
	requests exchange.Seats // open requests

	mu       sync.Mutex
	backends map[To]*backend
}

func newProxy(c Config, table *atomic.Pointer[Table]) *proxy {
	return &proxy{cfg: &c, table: table, backends: map[To]*backend{},
		requests: exchange.Seats{Most: mostRequests, MostOfSpace: mostRequestsOfSpace}}
}

// backend returns what a request is passed to.
func (p *proxy) backend(to To) *backend {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.backends[to]
	if b == nil {
		b = newBackend(to, p.cfg)
		p.backends[to] = b
	}
	return b
}

// keep lets go of backends that a Table does not lead to.
func (p *proxy) keep(t *Table) {
	to := t.backends()
	p.mu.Lock()
	defer p.mu.Unlock()
	for of, b := range p.backends {
		if !to[of] {
			delete(p.backends, of)
			b.close()
		}
	}
}

// close lets go of all.
func (p *proxy) close() { p.keep(&Table{}) }

// What callers hear who are not answered. No word says where anything runs.
const (
	saysNotFound    = "404: nothing is served here"
	saysMisdirected = "421: this connection is for another host"
	saysBadPath     = "400: this path is not served"
	saysFull        = "503: too many requests are open; try again"
	saysAway        = "503: the application does not answer now; try again"
	saysLate        = "504: the application does not answer in time"
	saysBroken      = "502: the application broke off its answer"
	saysDenied      = "403: the application lets this caller not in"
)

// ServeHTTP implements http.Handler.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	space, answer := "", &answer{ResponseWriter: w}
	defer func() {
		took := time.Since(began)
		if answer.upgraded {
			took = 0
		}
		p.cfg.Metrics.answered(space, answer.code(), took)
		p.cfg.Log.Debug("a request from outside", "space", space, "host", r.Host, "method", r.Method, "path", r.URL.Path,
			"code", answer.code(), "took", time.Since(began), "from", r.RemoteAddr)
	}()
	h := p.table.Load().find(hostOf(r.Host))
	if h == nil {
		refuse(answer, http.StatusNotFound, saysNotFound)
		return
	}
	space = h.space
	switch named := r.TLS != nil; {
	case named && (h.certificate == nil || !sameSite(p.table.Load(), r, h)):
		refuse(answer, http.StatusMisdirectedRequest, saysMisdirected)
		return
	case !named && (h.certificate != nil || h.passthrough):
		u := *r.URL
		u.Scheme, u.Host = "https", r.Host
		http.Redirect(answer, r, u.String(), http.StatusPermanentRedirect)
		return
	case !goodPath(r):
		refuse(answer, http.StatusBadRequest, saysBadPath)
		return
	}
	if c := connOf(r.Context()); c != nil && !c.claim(space) {
		answer.Header().Set("Connection", "close")
		p.full(answer)
		return
	}
	done := p.requests.Take(space)
	if done == nil {
		p.full(answer)
		return
	}
	defer done()
	route := h.find(r.URL.Path)
	switch {
	case route == nil:
		refuse(answer, http.StatusNotFound, saysNotFound)
	case route.to.UID == "":
		refuse(answer, http.StatusServiceUnavailable, saysAway)
	default:
		p.pass(answer, r, route.to)
	}
}

// sameSite reports whether a connection's SNI is of the same space as a host: clients may use one for several hosts.
func sameSite(t *Table, r *http.Request, h *host) bool {
	of := t.find(hostOf(r.TLS.ServerName))
	return of != nil && of.space == h.space
}

// goodPath reports whether a path means the same to everybody: one with dots may be another one to the application.
func goodPath(r *http.Request) bool {
	path := r.URL.Path
	if !strings.HasPrefix(path, "/") || r.Method == http.MethodConnect {
		return false
	}
	return !strings.Contains(path+"/", "/./") && !strings.Contains(path+"/", "/../")
}

func (p *proxy) full(w http.ResponseWriter) {
	p.cfg.Metrics.refused.WithLabelValues("space").Inc()
	w.Header().Set("Retry-After", "1")
	refuse(w, http.StatusServiceUnavailable, saysFull)
}

func refuse(w http.ResponseWriter, code int, words string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, words+"\n") // who has gone needs no answer
}

var buffers = &pool{sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}}

type pool struct{ sync.Pool }

// Get implements httputil.BufferPool.
func (p *pool) Get() []byte { return *p.Pool.Get().(*[]byte) }

// Put implements httputil.BufferPool.
func (p *pool) Put(b []byte) { p.Pool.Put(&b) }

// pass passes a request to a backend, and its answer back.
func (p *proxy) pass(w http.ResponseWriter, r *http.Request, to To) {
	caller, port := callerOf(r)
	through := httputil.ReverseProxy{
		Transport:     p.backend(to),
		FlushInterval: -1, // what comes is passed on at once
		BufferPool:    buffers,
		ErrorLog:      quiet,
		Rewrite: func(out *httputil.ProxyRequest) {
			out.Out.URL.Scheme, out.Out.URL.Host = "http", net.JoinHostPort(caller.String(), port)
			out.Out.URL.RawQuery = out.In.URL.RawQuery // what means nothing to this process passes, too
			out.Out.Host = out.In.Host
			out.SetXForwarded()
			out.Out.Header.Set("X-Real-Ip", caller.String())
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) { p.failed(w, r, to, err) },
	}
	through.ModifyResponse = func(resp *http.Response) error {
		if resp.ContentLength == 0 {
			through.FlushInterval = 0 // the head ends the answer: gRPC reads its status from there only then
		}
		return nil
	}
	through.ServeHTTP(w, r)
}

var quiet = log.New(io.Discard, "", 0)

// callerOf is the address of whoever asks, and the port of the connection.
func callerOf(r *http.Request) (caller netip.Addr, port string) {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.IPv4Unspecified(), "0"
	}
	return at.Addr().Unmap().WithZone(""), strconv.Itoa(int(at.Port()))
}

// failed answers a request that a backend has not.
func (p *proxy) failed(w http.ResponseWriter, r *http.Request, to To, err error) {
	if r.Context().Err() == nil {
		p.cfg.Log.Debug("a request from outside is not answered", "service", to.Service.String(), "err", err)
	}
	var fault *exchange.Fault
	var late interface{ Timeout() bool }
	switch {
	case exchange.IsDenied(err):
		refuse(w, http.StatusForbidden, saysDenied)
	case errors.As(err, &fault):
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, saysAway)
	case errors.As(err, &late) && late.Timeout(), errors.Is(err, context.DeadlineExceeded):
		refuse(w, http.StatusGatewayTimeout, saysLate)
	default:
		refuse(w, http.StatusBadGateway, saysBroken)
	}
}

// answer remembers the code of an answer.
type answer struct {
	http.ResponseWriter
	first    int
	upgraded bool
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(code int) {
	if a.first == 0 && (code >= 200 || code == http.StatusSwitchingProtocols) {
		a.first, a.upgraded = code, code == http.StatusSwitchingProtocols
	}
	a.ResponseWriter.WriteHeader(code)
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *answer) code() int {
	if a.first == 0 {
		return http.StatusOK
	}
	return a.first
}
