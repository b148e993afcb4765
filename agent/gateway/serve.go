package gateway

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/upward"
)

// Times of a connection of a pod.
const (
	headTime = 10 * time.Second
	idleTime = 2 * time.Minute
)

// serve serves pods until ctx ends, and ends what they have open then.
func (g *Gateway) serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler: http.HandlerFunc(g.answer), ReadHeaderTimeout: headTime, IdleTimeout: idleTime,
		MaxHeaderBytes: upward.MaxHead, ErrorLog: log.New(io.Discard, "", 0),
		HTTP2:       &http.HTTP2Config{MaxConcurrentStreams: mostOfAccount},
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnContext: withConnection, DisableGeneralOptionsHandler: true, // which answers anybody
		TLSConfig: &tls.Config{
			MinVersion:     tls.VersionTLS12,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return g.certificateNow() },
		},
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	err := server.ServeTLS(newBounded(l), "", "")
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// answer answers a request of a pod.
func (g *Gateway) answer(w http.ResponseWriter, r *http.Request) {
	who, known := g.whose(r.Header)
	if !known && g.starting() {
		g.Metrics.refuse(refusedStarting)
		upward.WriteFault(w, &exchange.Fault{Code: http.StatusServiceUnavailable, Reason: "ServiceUnavailable", After: 1,
			Message: "the agent of this site is just starting; try again"})
		return
	}
	if !known {
		g.Metrics.refuse(refusedToken)
		upward.WriteFault(w, &exchange.Fault{Code: http.StatusUnauthorized, Reason: "Unauthorized",
			Message: "the request has no token that this site keeps for a ServiceAccount: pods find theirs in " +
				"/var/run/secrets/kubernetes.io/serviceaccount, and read it again when it changes"})
		return
	}
	if !proven(r.Context(), who.space) {
		g.Metrics.refuse(refusedConnections)
		w.Header().Set("Connection", "close")
		upward.WriteFault(w, &exchange.Fault{Code: http.StatusTooManyRequests, Reason: "TooManyRequests", After: 1,
			Message: "the pods of the space have too many connections to this site's gateway open; end some"})
		return
	}
	give := g.seats.take(who)
	if give == nil {
		g.Metrics.refuse(refusedRequests)
		upward.WriteFault(w, &exchange.Fault{Code: http.StatusTooManyRequests, Reason: "TooManyRequests", After: 1,
			Message: "the pods of this site have too many requests for the API of the space open; end some, watches too"})
		return
	}
	defer give()
	seen := &status{ResponseWriter: w, code: http.StatusOK}
	defer g.Metrics.pass(seen, r)()
	upward.Forward(g.up, who.space, "").ServeHTTP(seen, r)
	if seen.code == http.StatusUnauthorized {
		g.doubt(who)
	}
}

// doubtEvery is how often a refused token is renewed before its time.
const doubtEvery = 10 * time.Second

// doubt has a token renewed that the home of its space refuses: the ServiceAccount was made anew, or
// this site was.
func (g *Gateway) doubt(who identity) {
	g.mu.Lock()
	a := g.accounts[who]
	due := a != nil && time.Since(a.doubted) >= doubtEvery
	if due {
		next := *a
		next.doubted, next.renewAt = time.Now(), time.Time{}
		g.accounts[who] = &next
	}
	g.mu.Unlock()
	if due {
		select {
		case g.doubts <- struct{}{}:
		default:
		}
	}
}

// starting reports whether a token may be one that is not known yet.
func (g *Gateway) starting() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.knows
}

// whose is whose token a request has. Nothing of a token is believed: it is one of those that this
// gateway keeps, or it is none.
func (g *Gateway) whose(h http.Header) (identity, bool) {
	if len(h["Authorization"]) != 1 || len(h["Authorization"][0]) > longestAccessToken {
		return identity{}, false
	}
	kind, token, _ := strings.Cut(strings.TrimSpace(h["Authorization"][0]), " ")
	if !strings.EqualFold(kind, "bearer") {
		return identity{}, false
	}
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	g.mu.Lock()
	defer g.mu.Unlock()
	who, known := g.tokens[sum]
	return who, known
}
