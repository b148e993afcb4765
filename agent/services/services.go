package services

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"path/filepath"
	"sync"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/ondemand"
	"skerry.dev/skerry/tunnel/upward"
)

// Config is what Services work with. All fields but Address and Here are required.
type Config struct {
	// Dir keeps which port stands for which.
	Dir string
	// Address finds the address by which Pods reach this machine; nil where they do not. Then nothing is kept,
	// and what an earlier run has kept is removed.
	Address func(ctx context.Context) (netip.Addr, error)
	Clients *target.Clients
	// Inventory knows whose object of the target it is that has a UID.
	Inventory interface {
		ByUID(uid string) (store.Key, bool)
	}
	// Here connects to a ready Pod of a Service of this site; nil does not.
	Here func(ctx context.Context, r *exchange.Request) (*http.Response, error)
	// Again has a Service written anew, since LedAway says something else of it.
	Again func(k store.Key)
	// Up opens streams to the parent.
	Up      upward.Opener
	Metrics *Metrics
	Log     *slog.Logger
}

// Services are the names of a site that lead elsewhere. Its methods may be called concurrently.
type Services struct {
	Config
	client    *target.Client
	up        http.RoundTripper
	times     leadTimes
	patience  time.Duration // callTime
	seats     exchange.Seats
	held      exchange.Seats // of callers that wait
	looks     looks
	newcomers newcomers
	nodes     nodes // asked for once a Service lets others in than Pods of its space
	needed    chan struct{}
	need      sync.Once
	woken     chan struct{} // one slot: something is dirty

	mu      sync.Mutex
	known   map[name]*target.Object  // delivered Services
	members map[name]map[owner]bool  // of those, the spaces besides their own whose Pods may call them
	slices  map[name]map[string]bool // of each Service, those that the cluster makes: whether any endpoint is ready
	dirty   map[name]struct{}
	entries map[name]*entry
	leads   map[name]*lead
	leading sync.WaitGroup // with mu held while there are entries
	// homes are the Namespaces, by name; residents are the Pods that have an address, pods those at each.
	homes     map[string]home
	pods      map[string]map[pod]struct{}
	residents map[pod]resident

	// Of the loop of Run alone.
	ports *ports
	at    netip.Addr
	stale bool // there may be fronts that stand for nothing
	// failed are the Services that could not be made as they are to be when they were last looked at, and anew says that
	// one of them could be before.
	failed map[name]struct{}
	anew   bool
	// importless is when the cluster last did not know ServiceImports.
	importless time.Time
}

// name is that of a Service at the target.
type name struct{ namespace, service string }

// New returns Services that do nothing before they are run, and needed.
func New(c Config) *Services {
	return &Services{Config: c, up: upward.NewTransport(c.Up), times: usualTimes, patience: callTime,
		seats: exchange.Seats{Most: mostConnections, MostOfSpace: mostOfSpace},
		held:  exchange.Seats{Most: mostHeld, MostOfSpace: mostHeldOfSpace}, looks: newLooks(), newcomers: newNewcomers(),
		needed: make(chan struct{}), woken: make(chan struct{}, 1),
		known: map[name]*target.Object{}, members: map[name]map[owner]bool{},
		slices: map[name]map[string]bool{}, dirty: map[name]struct{}{},
		entries: map[name]*entry{}, leads: map[name]*lead{}, homes: map[string]home{}, pods: map[string]map[pod]struct{}{},
		residents: map[pod]resident{}, stale: true}
}

// Need has the site look after Services: one that reaches its space was applied. A site without one watches
// nothing.
func (s *Services) Need() { s.need.Do(func() { close(s.needed) }) }

// Times of Services.
const (
	// lookEvery is how often the address of this machine is looked up, and all slices are made as they are to be.
	lookEvery = 30 * time.Second
	// retryFirst is how long what failed waits for another try, which doubles up to lookEvery.
	retryFirst = 500 * time.Millisecond
)

// Run looks after Services until ctx ends, and ends all connections then.
func (s *Services) Run(ctx context.Context) (err error) {
	if s.client, err = s.Clients.For(target.RootSpace); err != nil {
		return err
	}
	var parts sync.WaitGroup
	defer parts.Wait()
	parts.Go(func() { s.remember(ctx) })
	select {
	case <-s.needed:
	case <-ctx.Done():
		return nil
	}
	var known bool
	s.ports, known = openPorts(filepath.Join(s.Dir, "services.json"))
	if !known {
		s.Log.Warn("which ports stood for which Services is not known any more; they get new ones", "file", s.ports.path)
	}
	listed := make(chan struct{}, 4)
	parts.Go(func() { s.follow(ctx, delivered(services), s.allServices, s.oneService, nil, listed) })
	parts.Go(func() { s.follow(ctx, delivered(endpointSlices), s.allSlices, s.oneSlice, nil, listed) })
	parts.Go(func() {
		s.follow(ctx, target.Listing{Resource: namespaces}, s.allNamespaces, s.oneNamespace, s.forgetNamespaces, listed)
	})
	parts.Go(func() {
		s.follow(ctx, target.Listing{Resource: pods}, s.allPods, s.onePod, s.forgetPods, listed)
	})
	for range cap(listed) { // a Service without slices looks like one whose slices are not known yet
		select {
		case <-listed:
		case <-ctx.Done():
			return nil
		}
	}
	s.loop(ctx)
	s.closeAll()
	s.leading.Wait()
	return nil
}

// remember finds out whether an earlier run has looked after any Service, also after one that does not reach its
// space any more: its slice would lead to nobody.
func (s *Services) remember(ctx context.Context) {
	for wait := retryFirst; ; wait = min(2*wait, lookEvery) {
		_, err := s.client.List(ctx, delivered(services), func(o *target.Object) error {
			if reaches(o) && s.Address != nil {
				s.Need()
			}
			return nil
		})
		if err == nil {
			_, err = s.client.List(ctx, target.RemoteSlicesOf(), func(o *target.Object) error {
				if of := (name{o.Metadata.Namespace, o.Metadata.Labels[serviceName]}); target.IsRemoteSlice(o, of.service) {
					s.mu.Lock()
					s.touchLocked(of)
					s.mu.Unlock()
					s.Need()
				}
				return nil
			})
		}
		if err == nil || !ondemand.Pause(ctx, wait) {
			return
		}
	}
}

// loop makes everything as it is to be. What fails is tried again.
func (s *Services) loop(ctx context.Context) {
	s.giveBack()
	wait, said := retryFirst, ""
	for ctx.Err() == nil {
		err := s.settle(ctx)
		if s.anew {
			wait = retryFirst // it does not wait for as long as what has failed for long, of another space maybe
		}
		pause := lookEvery
		switch {
		case err == nil:
			wait, said = retryFirst, ""
		case errors.Is(err, errNotYet) && wait == retryFirst: // it was applied just now
		case ctx.Err() == nil && err.Error() != said:
			said = err.Error()
			s.Log.Warn("not all names of Services lead to other sites; it is tried again", "err", err)
		}
		if err != nil {
			pause, wait = wait, min(2*wait, lookEvery)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-s.woken:
		case <-timer.C:
			if s.nodes.now() != nil { // what is known holds for a while where this fails
				if err := s.nodes.look(ctx, s.client); err != nil {
					s.Log.Debug("cannot list nodes", "err", err)
				}
			}
			s.giveBack()
			s.all()
		}
		timer.Stop()
	}
}

// all has everything looked at.
func (s *Services) all() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range s.known {
		s.dirty[n] = struct{}{}
	}
	for n := range s.entries {
		s.dirty[n] = struct{}{}
	}
}

// giveBack gives back the ports of Services that went while nobody looked, or before they had an entry.
func (s *Services) giveBack() {
	are := map[string]bool{}
	s.mu.Lock()
	for _, o := range s.known {
		are[o.Metadata.UID] = true
	}
	for _, e := range s.entries {
		are[e.of.uid] = true
	}
	s.mu.Unlock()
	if s.ports.keep(are) {
		s.keepPorts()
	}
}

// keepPorts writes which port stands for which.
func (s *Services) keepPorts() {
	if err := s.ports.write(); err != nil {
		s.Log.Warn("which ports stand for Services cannot be kept", "file", s.ports.path, "err", err)
	}
}

// touchLocked has a Service looked at. s.mu must be held.
func (s *Services) touchLocked(n name) {
	s.dirty[n] = struct{}{}
	select {
	case s.woken <- struct{}{}:
	default:
	}
}
