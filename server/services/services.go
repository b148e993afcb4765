// Package services joins a connection to a Service with a site that has Pods of it.
//
//		s := services.New(services.Config{Serving: delivery.Serving, Sites: sites, RTT: sessions.RTT, Parent: up})
//		gateway.Config{Services: s}
//
//	 1. A Pod connects to the address that a Service has at its site, where none of its own Pods is ready.
//	    The site's agent asks here for a connection (upward.ServiceCall, Serve).
//	 2. The site has to have that Service, or its name (catalog.NamedAt). Every other call is refused.
//	 3. The targets where the Service is are asked one after the other, the nearest first; of those that are about as
//	    near, one by chance, weighted by the ready Pods that each had when it last answered (order). It answers once
//	    its agent has a connection to a ready Pod. So a target that has none costs a question, and no byte. Beside
//	    one that says nothing for a second the next one is asked, too: the first that connects has the call. While
//	    another one has ready Pods, one that has not answered is asked first by one call a second alone.
//	 4. A relay whose own targets do not answer asks its parent last, in its own name (turns).
//	 5. Bytes pass until both sides have ended.
//	    A connection may be traced (exchange.Trace): then each place says what it decided. Review has a site make one.
//	    Callers of a Service with session affinity come back to the target that has answered them (affinity.go).
//	 6. A Service that serves an import stands for others, of other spaces, too: these are asked (imports.go). The site
//	    that asks hears which of them it has itself, and calls those straight for a while. A relay finds in what its
//	    parent has sent which these are, so it needs no parent for those at its own targets.
//	 7. Where nothing answers because it is on its way to another target, the refusal says so (exchange.Moving): the
//	    site that asks has its callers wait.
//
// A relay is one target to its parent. What its parent asks (Answer), it asks of its own targets, and never of its
// parent again. The parent does not ask the target that a call came from, or, for an import, asks it last. So a call
// goes up, then down, and no target has it twice while another one may answer.
//
// It keeps nothing, and looks into nothing that passes.
package services

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/clip"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/upward"
)

// Config is what Services work with. All fields but Parent are required.
type Config struct {
	// Serving returns the targets where the Service of a key and UID is, besides the one that asks, and the UID that
	// it has at the parent, empty where it does not come from there. It is false where the one that asks has neither
	// the Service nor its name. No name asks for the parent.
	Serving func(target string, k store.Key, uid string) (at []string, above string, has bool)
	// Imports returns what a Service stands for that serves an import: the name of that, and the Services of other spaces,
	// or of its own, that it leads to. It is false for every other Service.
	Imports func(k store.Key) (service string, all []Offer, is bool)
	// Moves reports whether what answers for a Service is on its way to another target.
	Moves func(k store.Key) bool
	// Affinity is for how long after a call the callers of a Service come back to what has answered them, 0 where they
	// need not.
	Affinity func(k store.Key) time.Duration
	// Closed returns the targets, besides one, that have the Service of a key and whose admin lets nobody call it there.
	Closed func(target string, k store.Key) []string
	// Named returns the targets that have the Service of a key and UID, or its name, and whether it reaches its space.
	Named func(k store.Key, uid string) (at []string, reaches bool)
	// Callable finds the UID of a Service that a target is to call. The error is one of Kubernetes' API.
	Callable func(k store.Key, target string) (uid string, err error)
	// Sites reaches the targets.
	Sites exchange.Sites
	// RTT is how far away a target is. It is false while nobody knows.
	RTT func(target string) (time.Duration, bool)
	// Parent opens streams to the parent of a relay; nil where there is none.
	Parent upward.Opener
	Log    *slog.Logger
}

// Offer is a Service that an import leads to, of a UID.
type Offer struct {
	Key store.Key
	UID string
}

// Services answers calls of sites. Its methods may be called concurrently.
type Services struct {
	Config
	up     *http.Transport // nil without a parent
	shares exchange.Shares // of what goes to the parent
	moves  moves
	ready  ready
	kept   exchange.Affinity[session, keptTo]
}

// New returns Services.
func New(c Config) *Services {
	s := &Services{Config: c, moves: moves{now: c.Moves}}
	if c.Parent != nil {
		s.up = upward.NewTransport(c.Parent)
	}
	return s
}

// Serve answers a call for a Service of a space that came from a target, for a site: the target, or one below it.
func (s *Services) Serve(w http.ResponseWriter, r *http.Request, target, site, space string) {
	call, err := upward.ReadServiceCall(r)
	if err != nil {
		upward.WriteFault(w, &exchange.Fault{Code: http.StatusBadRequest, Reason: "BadRequest", Message: err.Error()})
		return
	}
	ctx, trace := exchange.TraceAsked(r.Context(), r.Header)
	resp, err := s.connect(ctx, target, site, space, call)
	trace.Tell(w.Header())
	if err != nil {
		s.Log.Debug("a connection to a Service is refused", "site", site, "space", space,
			"service", call.Namespace+"/"+call.Service, "err", err)
		upward.WriteFault(w, exchange.FaultOf(err))
		return
	}
	defer resp.Body.Close()
	upward.LeadHere(w.Header(), upward.ReadHere(resp.Header))
	if err := upward.AnswerServiceCall(w, r, resp.Body.(io.ReadWriteCloser)); err != nil {
		s.Log.Debug("a connection to a Service ended", "site", site, "space", space,
			"service", call.Namespace+"/"+call.Service, "at", resp.Header.Get(exchange.HeaderSite), "err", err)
	}
}

// Answer implements exchange.Answer for the parent of a relay, whose request has the UID of the Service at this relay
// as its Origin.
func (s *Services) Answer(ctx context.Context, r *exchange.Request) (*http.Response, error) {
	port, err := strconv.ParseUint(r.Query.Get(exchange.OptionPort), 10, 16)
	if err != nil {
		return nil, fmt.Errorf("%w: port: %w", exchange.ErrRequest, err)
	}
	return s.connect(ctx, "", "", r.Space,
		upward.ServiceCall{Namespace: r.Namespace, Service: r.Pod, UID: r.Origin, Port: uint16(port),
			Host: r.Query.Get(exchange.OptionHost), Caller: r.Caller})
}

// mostWords bounds what a refusal says, in bytes: each tier adds what its own targets have said.
const mostWords = 2 << 10

// connect connects to a port of a Service at the nearest target that has a ready Pod, else by the parent unless that is
// who asks: then target is empty. The answer's body is an io.ReadWriteCloser.
func (s *Services) connect(
	ctx context.Context,
	target, site, space string,
	call upward.ServiceCall,
) (*http.Response, error) {
	k := store.Key{Space: space, Resource: "services", Namespace: call.Namespace, Name: call.Service}
	ctx, told := s.tells(ctx)
	targets, above, has := s.Serving(target, k, call.UID)
	if !has {
		err := unknown(target, space, call)
		told(func() exchange.Hop { return exchange.Hop{Reason: exchange.NoName, Message: err.Error()} })
		return nil, err
	}
	named, answers := s.answersFor(targets, k, call)
	moving := s.moving(answers) // now: the move may be over when nobody has answered
	keeping := s.keepingOf(k, site, call)
	places := s.places(target, answers, keeping)
	if target != "" && above != "" && s.up != nil {
		places = append(places, parentOf(k, call, above))
	}
	places = s.turns(target, places, keeping, call.Own)
	defer told(func() exchange.Hop { return s.asks(target, k, places) })
	resp, by, failed := first(ctx, s.ways(places, site))
	if resp != nil {
		s.answered(keeping, places[by])
		// What another target says of it counts for nothing.
		var at []upward.Here
		if target != "" && site == target && keeping.time == 0 { // it has asked for itself, and may choose
			at = here(target, answers)
		}
		upward.LeadHere(resp.Header, at)
		return resp, nil
	}
	code, reason := http.StatusServiceUnavailable, "ServiceUnavailable"
	why := "no other site has it that may be called (spec.allow.services of its SyncTarget); the Service's annotation " +
		"skerry.dev/targets says where it is"
	if len(failed) > 0 {
		var words []string
		for _, f := range failed {
			words = append(words, f.Message)
		}
		why = strings.Join(words, "; ")
	}
	says := func(reason string) func(*exchange.Fault) bool {
		return func(f *exchange.Fault) bool { return f.Reason == reason }
	}
	switch {
	case moving || s.moving(answers) || slices.ContainsFunc(failed, says(exchange.Moving)):
		reason, why = exchange.Moving, "what answers for it is on its way to another site; "+why
	case slices.ContainsFunc(failed, says(exchange.Denied)):
		code, reason = http.StatusForbidden, exchange.Denied
	}
	return nil, &exchange.Fault{Code: code, Reason: reason, After: 1,
		Message: fmt.Sprintf("Service %s of space %s answers nowhere: %s", called(named), space, clip.Dotted(why, mostWords))}
}

// called names what is called, for people.
func called(call upward.ServiceCall) string {
	of := call.Namespace + "/" + call.Service
	if call.Host != "" {
		return of + " (its Pod " + call.Host + ")"
	}
	return of
}

// unknown refuses a call for a Service of which whoever asks has not even the name.
func unknown(target, space string, call upward.ServiceCall) error {
	if target == "" {
		return &exchange.Fault{Code: http.StatusNotFound, Reason: "NotFound", Message: fmt.Sprintf(
			"the relay has no Service %s/%s of space %s that reaches its space, or another one of that name; "+
				"it comes with the next changes of the space", call.Namespace, call.Service, space)}
	}
	return &exchange.Fault{Code: http.StatusForbidden, Reason: "Forbidden", Message: fmt.Sprintf(
		"target %s has no Service %s/%s of space %s, or another one of that name; its name goes where the space runs Pods "+
			"while the Service, its Namespace or its Space says skerry.dev/reach: Space", target, call.Namespace, call.Service,
		space)}
}
