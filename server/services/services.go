// Package services joins a connection to a Service with a site that has Pods of it.
//
//		s := services.New(services.Config{Serving: delivery.Serving, Sites: sites, RTT: sessions.RTT})
//		gateway.Config{Services: s}
//
//	 1. A Pod connects to the address that a Service has at its site, where none of its own Pods is ready.
//	    The site's agent asks here for a connection (upward.ServiceCall).
//	 2. The site has to have that Service, or its name (catalog.NamedAt). Every other call is refused.
//	 3. The targets where the Service is are asked one after the other, the nearest first. A target answers once
//	    its agent has a connection to a ready Pod. So a target that has none costs a question, and no byte.
//	 4. Bytes pass until both sides have ended.
//
// It keeps nothing, and looks into nothing that passes.
package services

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/upward"
)

// Config is what Services work with. All fields are required.
type Config struct {
	// Serving returns the targets where the Service of a key and UID is, besides the one that asks. It is
	// false where that one has neither the Service nor its name.
	Serving func(target string, k store.Key, uid string) ([]string, bool)
	// Sites reaches the targets.
	Sites exchange.Sites
	// RTT is how far away a target is. It is false while nobody knows.
	RTT func(target string) (time.Duration, bool)
	Log *slog.Logger
}

// Services answers calls of sites. Its methods may be called concurrently.
type Services struct{ Config }

// New returns Services.
func New(c Config) *Services { return &Services{c} }

// patience is how long the targets of a Service may take to connect, all together. A caller that hears
// nothing for longer tries again by itself.
const patience = 3 * time.Second

// Serve answers a call for a Service of a space that came from a target.
func (s *Services) Serve(w http.ResponseWriter, r *http.Request, target, space string) {
	call, err := upward.ReadServiceCall(r)
	if err != nil {
		upward.WriteFault(w, &exchange.Fault{Code: http.StatusBadRequest, Reason: "BadRequest", Message: err.Error()})
		return
	}
	conn, at, err := s.connect(r.Context(), target, space, call)
	if err != nil {
		s.Log.Debug("a connection to a Service is refused", "target", target, "space", space,
			"service", call.Namespace+"/"+call.Service, "err", err)
		upward.WriteFault(w, exchange.FaultOf(err))
		return
	}
	defer conn.Close()
	if err := upward.AnswerServiceCall(w, r, conn); err != nil {
		s.Log.Debug("a connection to a Service ended", "target", target, "space", space,
			"service", call.Namespace+"/"+call.Service, "at", at, "err", err)
	}
}

// connect connects to a port of a Service at the nearest target that has a ready Pod.
func (s *Services) connect(
	ctx context.Context,
	target, space string,
	call upward.ServiceCall,
) (io.ReadWriteCloser, string, error) {
	k := store.Key{Space: space, Resource: "services", Namespace: call.Namespace, Name: call.Service}
	targets, known := s.Serving(target, k, call.UID)
	if !known {
		return nil, "", &exchange.Fault{Code: http.StatusForbidden, Reason: "Forbidden", Message: fmt.Sprintf(
			"target %s has no Service %s/%s of space %s, or another one of that name", target, call.Namespace,
			call.Service, space)}
	}
	s.order(targets)
	ctx, cancel := context.WithCancel(ctx)
	late := time.AfterFunc(patience, cancel)
	var failed []string
	for _, at := range targets {
		conn, err := s.at(ctx, at, k, call)
		if err == nil && late.Stop() {
			return conn, at, nil
		}
		if err == nil {
			conn.Close()
			err = context.DeadlineExceeded
		}
		failed = append(failed, exchange.FaultOf(err).Message)
		if ctx.Err() != nil {
			break
		}
	}
	cancel()
	late.Stop()
	why := "no other site has it"
	if len(failed) > 0 {
		why = strings.Join(failed, "; ")
	}
	return nil, "", &exchange.Fault{Code: http.StatusServiceUnavailable, Reason: "ServiceUnavailable", After: 1,
		Message: fmt.Sprintf("Service %s/%s of space %s answers nowhere: %s", call.Namespace, call.Service, space, why)}
}

// at connects to a Service at one target.
func (s *Services) at(
	ctx context.Context,
	target string,
	k store.Key,
	call upward.ServiceCall,
) (io.ReadWriteCloser, error) {
	resp, err := s.Sites.Do(ctx, target, &exchange.Request{Space: k.Space, Namespace: k.Namespace, Pod: k.Name,
		Resource: k.Resource, Origin: call.UID, Verb: exchange.Connect,
		Query:   url.Values{exchange.OptionPort: {strconv.Itoa(int(call.Port))}},
		Upgrade: exchange.Bytes()})
	if err != nil {
		return nil, err
	}
	conn, is := resp.Body.(io.ReadWriteCloser)
	if resp.StatusCode == http.StatusSwitchingProtocols && is {
		return conn, nil
	}
	defer resp.Body.Close()
	return nil, exchange.Refusal(resp)
}

// order puts the nearest targets first, and last those of which nobody knows how far they are.
func (s *Services) order(targets []string) {
	slices.SortStableFunc(targets, func(a, b string) int {
		return int(s.far(a) - s.far(b))
	})
}

func (s *Services) far(target string) time.Duration {
	if rtt, known := s.RTT(target); known {
		return rtt
	}
	return time.Hour
}
