// Package gateway answers what sites ask on behalf of their pods: requests for the API of a space,
// tokens for them, and connections to Services that are elsewhere (tunnel/upward).
//
//		g := gateway.New(gateway.Config{API: api, Runs: delivery.RunsAs})
//		sessions.Config{Streams: g.For}
//
//	 1. A child opens a stream on its data connection. Its certificate names the target.
//	 2. The path of the site is that name, and the names below it that the child has put there.
//	 3. A token is issued only for a ServiceAccount that a workload of the space runs as at that
//	    target. What came to this center from its parent is asked for there.
//	 4. A request with a token that this center has signed is answered by its API, as one from that
//	    site. Every other request goes on to the parent, and is answered here where there is none.
//
// It decides nothing about a request: authentication, RBAC and quotas are those of every request.
package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/upward"
)

// API is the kube API of the center.
type API interface {
	// FromSite answers requests for a space that came through the gateway of a site.
	FromSite(space, site string) http.Handler
	// IssueForSite issues a token of a ServiceAccount for the pods of a site.
	IssueForSite(ctx context.Context, space, namespace, account, site string) (string, time.Time, error)
	// Issued reports whether this center has signed a token.
	Issued(token string) bool
}

// Config is what a Gateway works with. All fields but Parent are required.
type Config struct {
	API API
	// Runs reports whether a target has a workload whose pods use the API of their space as a
	// ServiceAccount: of a space of this center, or of its parent.
	Runs func(target, space, namespace, account string) (here, above bool)
	// Services answers calls for Services of spaces.
	Services interface {
		Serve(w http.ResponseWriter, r *http.Request, target, site, space string)
	}
	// Parent opens streams to the parent of a relay; nil where there is none.
	Parent upward.Opener
	Log    *slog.Logger
}

// Gateway serves the streams that children open. Its methods may be called concurrently.
type Gateway struct {
	Config
	up *http.Transport // nil without a parent

	mu      sync.Mutex
	passing int            // requests that are passed on to the parent
	targets map[string]int // of those, by the target that they came from
}

// How many requests a relay passes on side by side: of all targets, and of one. The rest of a data
// connection's streams are for calls of Services (exchange.MostOfServices) and for tokens.
const (
	mostPassing  = 640
	mostOfTarget = 512
)

// New returns a Gateway.
func New(c Config) *Gateway {
	g := &Gateway{Config: c, targets: map[string]int{}}
	if c.Parent != nil {
		g.up = upward.NewTransport(c.Parent)
	}
	return g
}

// For returns who serves the streams of a child.
func (g *Gateway) For(who tunnel.Identity) tunnel.StreamHandler {
	return upward.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.serve(w, r, who.Target)
	})}
}

// serve answers a request that came from a target.
func (g *Gateway) serve(w http.ResponseWriter, r *http.Request, target string) {
	space, site, err := upward.Arrived(r.Header, target)
	switch {
	case err != nil:
		upward.WriteFault(w, exchange.FaultOf(&exchange.Fault{Code: http.StatusBadRequest, Reason: "BadRequest",
			Message: err.Error()}))
	case upward.IsServiceCall(r.Header):
		g.Services.Serve(w, r, target, site, space)
	case upward.IsTokenRequest(r.Header): // which forgets what was asked
		g.token(w, r, target, space, site)
	case g.up == nil, g.API.Issued(bearer(r.Header)):
		g.API.FromSite(space, site).ServeHTTP(w, r)
	default:
		g.pass(w, r, target, space, site)
	}
}

// pass passes a request on to the parent.
func (g *Gateway) pass(w http.ResponseWriter, r *http.Request, target, space, site string) {
	if !g.begin(target) {
		upward.WriteFault(w, &exchange.Fault{Code: http.StatusTooManyRequests, Reason: "TooManyRequests", After: 1,
			Message: "this relay passes on as many requests for APIs of spaces as it may"})
		return
	}
	defer g.end(target)
	upward.Forward(g.up, space, site).ServeHTTP(w, r)
}

// begin takes the room of a request that is passed on.
func (g *Gateway) begin(target string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.passing >= mostPassing || g.targets[target] >= mostOfTarget {
		return false
	}
	g.passing++
	g.targets[target]++
	return true
}

// end gives it back.
func (g *Gateway) end(target string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.passing--
	if g.targets[target]--; g.targets[target] == 0 {
		delete(g.targets, target)
	}
}

// bearer is the token of a request, "" for none.
func bearer(h http.Header) string {
	kind, token, _ := strings.Cut(strings.TrimSpace(h.Get("Authorization")), " ")
	if !strings.EqualFold(kind, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// token answers a request for a token.
func (g *Gateway) token(w http.ResponseWriter, r *http.Request, target, space, site string) {
	asked, err := upward.ReadTokenRequest(r.Body)
	if err != nil {
		upward.WriteFault(w, &exchange.Fault{Code: http.StatusBadRequest, Reason: "BadRequest", Message: err.Error()})
		return
	}
	t, err := g.issue(r.Context(), target, space, site, asked)
	if err != nil {
		g.Log.Info("a site gets no token", "site", site, "space", space, "namespace", asked.Namespace,
			"account", asked.Account, "err", err)
		upward.WriteFault(w, exchange.FaultOf(err))
		return
	}
	upward.WriteToken(w, t)
}

// issue returns a token of a ServiceAccount for a site.
func (g *Gateway) issue(
	ctx context.Context,
	target, space, site string,
	asked upward.TokenRequest,
) (upward.Token, error) {
	here, above := g.Runs(target, space, asked.Namespace, asked.Account)
	switch {
	case above && g.up != nil:
		return upward.AskToken(ctx, g.up, space, site, asked)
	case !here:
		return upward.Token{}, &exchange.Fault{Code: http.StatusForbidden, Reason: "Forbidden",
			Message: "no workload of space " + space + " runs as ServiceAccount " + asked.Namespace + "/" +
				asked.Account + " at target " + target + " and uses the API of the space"}
	}
	token, expires, err := g.API.IssueForSite(ctx, space, asked.Namespace, asked.Account, site)
	if err != nil {
		return upward.Token{}, &exchange.Fault{Code: http.StatusServiceUnavailable, Reason: "ServiceUnavailable",
			Message: "issue a token of ServiceAccount " + asked.Namespace + "/" + asked.Account + ": " + err.Error()}
	}
	return upward.Token{Token: token, Expires: expires}, nil
}
