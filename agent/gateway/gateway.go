package gateway

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"sync"
	"time"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/ondemand"
	"skerry.dev/skerry/tunnel/upward"
)

// Config is what a Gateway works with. All fields are required.
type Config struct {
	// Dir has the authority of the gateway.
	Dir string
	// Address is where pods reach this machine: IP:PORT, :PORT, Auto or Off.
	Address string
	Clients *target.Clients
	// As returns the client that writes in a namespace of a space.
	As        func(c *target.Client, space, namespace string) *target.Client
	Inventory *inventory.Inventory
	// Up opens streams to the parent.
	Up upward.Opener
	// Owner is whose spaces these are.
	Owner func() target.SpacesOwner
	// Metrics count what passes.
	Metrics *Metrics
	Log     *slog.Logger
}

// Gateway is the gateway of a site. Its methods may be called concurrently.
type Gateway struct {
	Config
	authority *authority
	record    record
	up        *http.Transport
	seats     seats
	needing   sync.Once
	needed    chan struct{} // closed when a workload needs it
	doubts    chan struct{} // one slot: a token was refused

	providing sync.Mutex // held while something is kept at the target
	clusterIP string     // guarded by providing, as are those that follow
	serviceAt netip.AddrPort
	adopted   bool      // what an earlier run has kept is known
	checked   time.Time // when everything was looked at
	silent    time.Time // when the parent could not be asked for a token, because of silence
	silence   error

	mu       sync.Mutex
	at       netip.AddrPort // where it listens; invalid while it does not
	problem  error          // why it does not
	changed  chan struct{}  // closed and replaced when at or problem is another one
	serving  *tls.Certificate
	servedAs string // the address that serving is for
	knows    bool   // what an earlier run has kept
	accounts map[identity]*account
	tokens   map[[sha256.Size]byte]identity
}

// New returns a Gateway that listens when it is run.
func New(c Config) (*Gateway, error) {
	g := &Gateway{Config: c, accounts: map[identity]*account{}, tokens: map[[sha256.Size]byte]identity{},
		problem: errStarting, checked: time.Now(), changed: make(chan struct{}), needed: make(chan struct{}),
		doubts: make(chan struct{}, 1), up: upward.NewTransport(c.Up),
		seats: seats{spaces: map[string]int{}, accounts: map[identity]int{}}}
	if c.Address == Off {
		g.problem = errOff
		return g, nil
	}
	var err error
	dir := filepath.Join(c.Dir, "gateway")
	if g.authority, err = openAuthority(dir); err != nil {
		return nil, err
	}
	g.record = openRecord(dir)
	known, err := g.record.read()
	if err != nil {
		c.Log.Warn("what pods' tokens were is not known any more; they get new ones", "file", g.record.path, "err", err)
	}
	for who, a := range known {
		a.seen = time.Now()
		g.put(who, a)
	}
	return g, nil
}

// Why a site has no gateway.
var (
	errOff      = errors.New("it is switched off (--gateway-address off)")
	errStarting = errors.New("the agent is just starting")
)

// Run listens for pods, and keeps what they need, until ctx ends. A port that cannot be opened is
// tried again: the rest of the agent goes on without.
func (g *Gateway) Run(ctx context.Context) error {
	if g.Address == Off {
		return nil
	}
	var looking sync.WaitGroup
	defer looking.Wait()
	looking.Go(func() { g.follow(ctx) })
	if len(g.named()) > 0 {
		g.need()
	}
	select {
	case <-g.needed:
	case <-ctx.Done():
		return nil
	}
	said := ""
	for ctx.Err() == nil {
		l, at, err := g.listen(ctx)
		if err == nil {
			said = ""
			g.Log.Info("pods of this site reach the APIs of their spaces", "address", at)
			g.set(at, nil)
			if err = g.serveUntilMoved(ctx, l, at); err == nil {
				g.set(netip.AddrPort{}, errStarting)
				continue
			}
		}
		g.set(netip.AddrPort{}, err)
		if err != nil && ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			g.Log.Error("this site has no gateway: workloads whose pods use the API of their space are refused", "err", err)
		}
		ondemand.Pause(ctx, lookEvery)
	}
	return nil
}

// serveUntilMoved serves until ctx ends, or this machine has another address where that was found.
func (g *Gateway) serveUntilMoved(ctx context.Context, l net.Listener, at netip.AddrPort) error {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	if host, _, _ := net.SplitHostPort(g.Address); host == "" {
		watching.Go(func() {
			for ondemand.Pause(ctx, lookEvery) {
				if now, err := ownAddress(ctx, g.Clients); err == nil && now != at.Addr() {
					g.Log.Info("this machine has another address; the gateway moves there", "from", at.Addr(), "to", now)
					cancel()
				}
			}
		})
	}
	return g.serve(ctx, l)
}

// need has the gateway listen: a site without pods that use it opens no port.
func (g *Gateway) need() { g.needing.Do(func() { close(g.needed) }) }

// set notes where the gateway listens, or why it does not.
func (g *Gateway) set(at netip.AddrPort, problem error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.at, g.problem = at, problem
	close(g.changed)
	g.changed = make(chan struct{})
}

// follow looks at everything at the start and now and then, once there is anything: of this run, or
// of an earlier one.
func (g *Gateway) follow(ctx context.Context) {
	for wait := firstRetry; !g.adoptNow(ctx); wait = min(2*wait, lookEvery) {
		if !ondemand.Pause(ctx, wait) {
			return
		}
	}
	if !g.uses("") {
		g.looked()
		select {
		case <-g.needed:
		case <-ctx.Done():
			return
		}
	}
	said, wait := "", firstRetry
	for ctx.Err() == nil {
		err := g.look(ctx)
		switch {
		case err == nil:
			said, wait = "", lookEvery
		case ctx.Err() == nil && err.Error() != said:
			said = err.Error()
			g.Log.Warn("not all pods have what they need for the API of their space; it is tried again", "err", err)
			fallthrough
		default:
			wait = min(2*wait, lookEvery)
		}
		g.looked()
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-g.doubts:
		}
		timer.Stop()
	}
}

// firstRetry is how long what fails at the start waits for another try, which doubles.
const firstRetry = 500 * time.Millisecond

// looked notes that what an earlier run has kept is known as far as can be.
func (g *Gateway) looked() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.knows = true
}

// Provide keeps what the pods of a workload need: of the ServiceAccount that it names, in the
// namespace of the target that has the name at. A *policy.Refusal says that this site cannot.
func (g *Gateway) Provide(ctx context.Context, k store.Key, at, account string) error {
	return g.provide(ctx, identity{k.Space, k.Namespace, account}, at, true)
}

// provide keeps what the pods of an identity need. With anew it is looked whether the target still
// has it: its namespace may have gone, and come again.
func (g *Gateway) provide(ctx context.Context, who identity, at string, anew bool) error {
	if err := g.listening(ctx); err != nil {
		return err
	}
	g.providing.Lock()
	defer g.providing.Unlock()
	return g.ensure(ctx, who, at, anew)
}

// startTime is how long a workload waits for the gateway to begin.
const startTime = 5 * time.Second

// listening has the gateway listen, and returns why it does not.
func (g *Gateway) listening(ctx context.Context) error {
	g.need()
	timer := time.NewTimer(startTime)
	defer timer.Stop()
	for {
		g.mu.Lock()
		waits, changed := !g.at.IsValid() && g.problem == errStarting, g.changed
		g.mu.Unlock()
		if !waits {
			return g.refusal()
		}
		select {
		case <-changed:
		case <-timer.C:
			return g.refusal()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// refusal is why this site has no gateway, nil where it has one.
func (g *Gateway) refusal() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at.IsValid() {
		return nil
	}
	return &policy.Refusal{Reason: policy.ReasonGateway, Message: fmt.Sprintf(
		"the pods use the API of their space, and this site has no gateway to it: %v; the site's admin sets "+
			"--gateway-address (gateway-address in agent.yaml). Pods that do not need it say so with the annotation "+
			"skerry.dev/pod-api: Target on their template, ServiceAccount or Namespace", g.problem)}
}

// named are the ServiceAccounts that workloads at the target name, with the names of their
// namespaces there.
func (g *Gateway) named() map[identity]string {
	out := map[identity]string{}
	g.Inventory.Any(func(k store.Key, r inventory.Record) bool { // which copies nothing
		if r.Account != "" && r.UID != "" {
			out[identity{k.Space, k.Namespace, r.Account}] = target.Mapping(r.Prefix).There(k.Namespace)
		}
		return false
	})
	return out
}

// service keeps the Service of the gateway and returns its address. g.providing must be held.
func (g *Gateway) service(ctx context.Context) (string, error) {
	g.mu.Lock()
	at := g.at
	g.mu.Unlock()
	if g.clusterIP != "" && g.serviceAt == at {
		return g.clusterIP, nil
	}
	owner := g.Owner()
	if len(owner.Centers) == 0 {
		return "", errors.New("it is not known yet which center this site belongs to")
	}
	client, err := g.Clients.For(target.RootSpace)
	if err != nil {
		return "", err
	}
	ip, err := client.EnsureGateway(ctx, at, g.clusterIP, owner)
	if err != nil {
		return "", err
	}
	if err := g.certify(ip); err != nil {
		return "", err
	}
	g.clusterIP, g.serviceAt = ip, at
	return ip, nil
}

// certify makes the certificate for the address of the Service.
func (g *Gateway) certify(ip string) error {
	address, err := netip.ParseAddr(ip)
	if err != nil {
		return fmt.Errorf("the Service of the gateway has the address %q: %w", ip, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.servedAs == ip {
		return nil
	}
	if g.serving, err = g.authority.serving(target.GatewayService, address); err != nil {
		return err
	}
	g.servedAs = ip
	return nil
}

func (g *Gateway) certificateNow() (*tls.Certificate, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.serving == nil {
		return nil, errStarting
	}
	return g.serving, nil
}
