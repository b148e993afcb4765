package streams

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/exchange"
)

// Config is what Streams work with. Targets and SpaceUID are required.
type Config struct {
	// Targets opens streams to the targets of this center.
	Targets tunnel.StreamOpener
	// Leads is nil, or returns a *exchange.Fault while this replica has no sessions.
	Leads func() error
	// Pass has the leader carry out a request, as Do does, while Leads returns an error; nil
	// returns that error.
	Pass func(ctx context.Context, target string, r *exchange.Request) (*http.Response, error)
	// SpaceUID returns the UID of a space, empty where there is none of that name.
	SpaceUID func(space string) string
	// Closes reports whether an admin of this center has closed a way into a target, one of
	// exchange.Ways; nil closes none.
	Closes func(target, way string) bool
	// Metered reports whether the bytes of a target's link are paid for; nil is none.
	Metered func(target string) bool
}

// Streams reaches into Pods. Its methods may be called concurrently.
type Streams struct {
	Config
	shares exchange.Shares
}

// New returns Streams.
func New(c Config) *Streams { return &Streams{Config: c} }

// Do sends a request to a target and returns the answer, whose body must be closed. A replica that
// stands by passes it to the leader.
func (s *Streams) Do(
	ctx context.Context,
	target string,
	r *exchange.Request,
) (*http.Response, error) {
	if s.Pass != nil && s.Leads != nil && s.Leads() != nil {
		return s.Pass(ctx, target, r)
	}
	return s.Here(ctx, target, r)
}

// Here is Do for a request that another replica has passed on: it fails, and asks nobody, where
// this one does not lead.
func (s *Streams) Here(
	ctx context.Context,
	target string,
	r *exchange.Request,
) (*http.Response, error) {
	if s.Leads != nil {
		if err := s.Leads(); err != nil {
			return nil, err
		}
	}
	sent := *r
	if sent.SpaceUID = s.SpaceUID(r.Space); sent.SpaceUID == "" {
		return nil, &exchange.Fault{
			Code:    http.StatusNotFound,
			Reason:  "NotFound",
			Message: "there is no space " + r.Space + " any more",
		}
	}
	if way := sent.Way(); s.Closes != nil && s.Closes(target, way) {
		return nil, &exchange.Fault{
			Code:   http.StatusForbidden,
			Reason: "Forbidden",
			Message: fmt.Sprintf("spec.allow.%s of SyncTarget %s is false, for space %s and all others; the center's "+
				"admin can change that", way, target, r.Space),
		}
	}
	done, err := s.shares.Take(target, &sent)
	if err != nil {
		return nil, err
	}
	ask := func(ctx context.Context) (*http.Response, error) { return exchange.Via(ctx, s.Targets, target, &sent) }
	if s.Metered != nil && s.Metered(target) {
		ask = func(ctx context.Context) (*http.Response, error) { return s.briefly(ctx, target, &sent) }
	}
	resp, err := ask(ctx)
	if err != nil {
		done()
		return nil, err
	}
	resp.Body = exchange.OnClose(resp.Body, done)
	return resp, nil
}

// Serve has a target answer a client's request to upgrade its connection, and passes bytes until
// one side ends or the request's context does. It calls begun with the targets that the answer came
// through, and with its code, before the client has the answer.
func (s *Streams) Serve(
	w http.ResponseWriter,
	req *http.Request,
	target string,
	r *exchange.Request,
	begun func(site string, code int),
) {
	ctx := req.Context()
	resp, err := s.Do(ctx, target, r)
	if err != nil {
		resp = exchange.FaultOf(err).Response()
	}
	defer resp.Body.Close()
	site := resp.Header.Get(exchange.HeaderSite)
	if site == "" {
		site = target
	}
	resp.Header.Del(exchange.HeaderSite)
	begun(site, resp.StatusCode)
	conn, upgraded := resp.Body.(io.ReadWriteCloser)
	if resp.StatusCode == http.StatusSwitchingProtocols && upgraded {
		if err = join(ctx, w, resp.Header, conn, site); err == nil {
			return
		}
		resp = (&exchange.Fault{Code: http.StatusBadRequest, Reason: "BadRequest", Message: err.Error()}).Response()
	}
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(
		w,
		io.LimitReader(resp.Body, maxRefusal),
	) // a client that has gone needs no answer
}

// maxRefusal bounds an answer that is no upgrade: a Status.
const maxRefusal = 64 << 10

// errNoUpgrade is returned for a client's connection that carries other requests, too.
var errNoUpgrade = errors.New(
	"the connection cannot be upgraded: exec, attach and port-forward need HTTP/1.1",
)
