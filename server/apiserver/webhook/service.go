package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"skerry.dev/skerry/tunnel/exchange"
)

const (
	// keptIdle and keptPerPod bound the connections that are kept for further calls, perPod all.
	keptIdle   = 90 * time.Second
	keptPerPod = 16
	perPod     = 32
	// patience is how long a site is waited for while there is another one, or six round trips
	// where those are longer: a data connection, a stream and a handshake take that.
	patience = 3 * time.Second
	// apart is how long a site that did not answer is asked after the others, and hurry how long it
	// is waited for then: nobody else has to find out what one call has.
	apart = 10 * time.Second
	hurry = time.Second
	// roomTime is how long a call waits for a site that takes no more connections.
	roomTime = 2 * time.Second
	// maxHeaders bounds the headers of an answer, in bytes.
	maxHeaders = 64 << 10
	// maxTried is how many Pods one call tries to connect to.
	maxTried = 4
)

// serviceCaller calls one Service of one space.
type serviceCaller struct {
	callers *Callers
	of      Service
	trust   *tls.Config

	used atomic.Int64 // when it was called last, in nanoseconds

	mu    sync.Mutex
	pods  map[Backend]*podCaller
	apart map[string]time.Time // until when a target is asked after the others
	heard map[string]time.Time // when a target has answered last
}

// podCaller has the connections to one Pod.
type podCaller struct {
	transport *http.Transport
	calls     atomic.Int64 // that are under way
}

func newServiceCaller(c *Callers, of Service, trust *tls.Config) *serviceCaller {
	s := &serviceCaller{
		callers: c, of: of, trust: trust.Clone(),
		pods: map[Backend]*podCaller{}, apart: map[string]time.Time{}, heard: map[string]time.Time{},
	}
	s.used.Store(time.Now().UnixNano())
	return s
}

// trusts reports whether connections may be shared with who trusts like that.
func (s *serviceCaller) trusts(t *tls.Config) bool {
	return s.trust.ServerName == t.ServerName &&
		(s.trust.RootCAs == t.RootCAs ||
			s.trust.RootCAs != nil && t.RootCAs != nil && s.trust.RootCAs.Equal(t.RootCAs))
}

// RoundTrip implements http.RoundTripper.
func (s *serviceCaller) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != s.of.host() || req.URL.Scheme != "https" {
		return nil, fmt.Errorf("a webhook by Service leads to %s, which is not followed", req.URL.Host)
	}
	if req.Body != nil && req.GetBody != nil {
		req.Body.Close() // each Pod that is tried gets a copy
	}
	began := time.Now()
	s.used.Store(began.UnixNano())
	all, err := s.callers.cfg.Services.Behind(req.Context(), s.of)
	if err == nil {
		s.closeIdle(all)
		var resp *http.Response
		if resp, err = s.try(req, s.ordered(all)); err == nil {
			return resp, nil
		}
	}
	s.callers.cfg.Metrics.failed(err)
	if isAway(err) && placesOnly(req.Context()) {
		return passed(req, err)
	}
	if took := time.Since(began); took >= time.Second {
		err = fmt.Errorf("%w (after %s)", err, took.Round(100*time.Millisecond))
	}
	return nil, err
}

// try calls the first of some Pods that can be connected to.
func (s *serviceCaller) try(req *http.Request, all []Backend) (*http.Response, error) {
	var failed errs
	for i, b := range all[:min(len(all), maxTried)] {
		if failed.away(b.Place.Target) {
			continue
		}
		others := slices.ContainsFunc(all[i+1:], func(o Backend) bool {
			return o.Place.Target != b.Place.Target && !failed.away(o.Place.Target)
		})
		resp, sent, err := s.call(req, b, others)
		if err == nil || sent {
			return resp, err
		}
		if failed = append(failed, err); req.Context().Err() != nil {
			break
		}
	}
	return nil, failed.join()
}

// call calls a Pod. Sent says that the Pod may have got the request.
func (s *serviceCaller) call(
	req *http.Request,
	b Backend,
	others bool,
) (resp *http.Response, sent bool, err error) {
	site, began := b.Place.Target, time.Now()
	ctx, cancel := context.WithCancelCause(req.Context())
	if others || placesOnly(ctx) || s.isApart(site) {
		wait := time.AfterFunc(s.patience(ctx, site), func() { cancel(errSlow) })
		defer wait.Stop()
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			GotConn: func(httptrace.GotConnInfo) { wait.Stop() },
		})
	}
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	again := req.Clone(ctx)
	if req.GetBody != nil {
		if again.Body, err = req.GetBody(); err != nil {
			cancel(nil)
			return nil, false, err
		}
	}
	// A kept connection may have ended just now. Nothing of this goes out: it has the transport try
	// again on a new one, as webhooks have to bear.
	again.Header["Idempotency-Key"] = []string{}
	pod := s.pod(b)
	pod.calls.Add(1)
	end := sync.OnceFunc(func() { pod.calls.Add(-1); cancel(nil) })
	resp, err = pod.transport.RoundTrip(again)
	if err != nil {
		if context.Cause(ctx) == errSlow {
			err = errSlow
		}
		waited := pod.calls.Load() > perPod // for a connection that another call has
		if end(); !connected.Load() && late(err) && !waited && s.heardBefore(site, began) {
			err = &Unreached{Site: site, Why: "it gave no answer in time", Away: true}
		}
		var unreached *Unreached
		got := connected.Load() && !errors.As(err, &unreached)
		return nil, got || req.GetBody == nil, s.fault(b, got, err)
	}
	s.callers.cfg.Metrics.called(site, time.Since(began))
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		resp.Body.Close()
		end()
		return nil, true, &Unreached{Site: site, Why: fmt.Sprintf(
			"pod %s answers %d, and no redirects are followed", b.Pod, resp.StatusCode,
		)}
	}
	noteBackend(req.Context(), b)
	resp.Body = exchange.OnClose(resp.Body, end)
	return resp, true, nil
}

// pod returns the connections to a Pod.
func (s *serviceCaller) pod(b Backend) *podCaller {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pods[b]
	if p == nil {
		p = &podCaller{transport: &http.Transport{
			TLSClientConfig: s.trust, TLSHandshakeTimeout: dialTime,
			MaxIdleConnsPerHost: keptPerPod, MaxConnsPerHost: perPod, IdleConnTimeout: keptIdle,
			MaxResponseHeaderBytes: maxHeaders,
			DialContext:            func(ctx context.Context, _, _ string) (net.Conn, error) { return s.dial(ctx, b) },
		}}
		s.pods[b] = p
	}
	return p
}

// dial connects to a Pod. Where its site takes no more connections it waits for room.
func (s *serviceCaller) dial(ctx context.Context, b Backend) (net.Conn, error) {
	end := time.Now().Add(roomTime)
	for wait := roomTime / 64; ; wait = min(2*wait, roomTime/8) {
		conn, err := Dial(ctx, s.callers.cfg.Sites, s.of, b, Caller{Name: caller})
		var u *Unreached
		full := errors.As(err, &u) && u.full
		if err == nil || full {
			s.hears(b.Place.Target)
		}
		if !full || time.Now().After(end) {
			return conn, err
		}
		s.callers.makeRoom(b.Place.Target)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// closeIdle forgets the connections to Pods that are not among those of all.
func (s *serviceCaller) closeIdle(all []Backend) {
	var ended []*podCaller
	s.mu.Lock()
	for b, p := range s.pods {
		if !slices.Contains(all, b) {
			delete(s.pods, b)
			ended = append(ended, p)
		}
	}
	s.mu.Unlock()
	for _, p := range ended {
		p.transport.CloseIdleConnections()
	}
}

// closeIdleAt closes the connections to the Pods at a target that are not in use.
func (s *serviceCaller) closeIdleAt(target string) {
	var there []*podCaller
	s.mu.Lock()
	for b, p := range s.pods {
		if b.Place.Target == target {
			there = append(there, p)
		}
	}
	s.mu.Unlock()
	for _, p := range there {
		p.transport.CloseIdleConnections()
	}
}
