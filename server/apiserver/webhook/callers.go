package webhook

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/apiserver/outbound"
	"skerry.dev/skerry/tunnel/exchange"
)

// callTimeout bounds a call that gives no time of its own.
const callTimeout = 30 * time.Second

// Sites reaches Pods where they run. Its errors are *exchange.Fault.
type Sites interface {
	// Do sends a request to a target and returns the answer, whose body must be closed.
	Do(ctx context.Context, target string, r *exchange.Request) (*http.Response, error)
}

// Config is what Callers work with.
type Config struct {
	// Outbound says at which addresses webhooks by URL are called.
	Outbound *outbound.Rules
	// Services finds the Pods behind Services, and Sites reaches them. Without Sites no webhook by
	// Service can be called.
	Services Services
	Sites    Sites
	// RTT returns the round trip to a target; it is false where it is not connected here. Nil knows
	// of none.
	RTT func(target string) (time.Duration, bool)
	// Metrics counts calls to Services; nil counts nothing.
	Metrics *Metrics
}

// Callers calls the webhooks of all spaces. Its methods may be called concurrently.
type Callers struct {
	cfg         Config
	conversions *conversions

	mu       sync.Mutex
	services map[Service][]*serviceCaller
}

// New returns Callers that have no connections yet.
func New(c Config) *Callers {
	return &Callers{cfg: c, conversions: newConversions(), services: map[Service][]*serviceCaller{}}
}

// For has the webhooks of a space called as nobody. What it wraps is left out: at the name that a
// cluster gives to its own API that would show the credentials of the pod which the center runs in.
func (c *Callers) For(space string) webhook.AuthenticationInfoResolverWrapper {
	return func(webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver {
		return spaceCallers{c, space}
	}
}

// Resolver stands where upstream looks up the address of a Service. It is left as its name, by which
// its caller knows it.
func (*Callers) Resolver() webhook.ServiceResolver { return names{} }

// Close closes the connections that are kept and not in use.
func (c *Callers) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, all := range c.services {
		for _, s := range all {
			s.closeIdle(nil)
		}
	}
	c.services = map[Service][]*serviceCaller{}
}

// makeRoom closes the connections to a target that are kept and not in use, so that others can be
// made.
func (c *Callers) makeRoom(target string) {
	c.mu.Lock()
	all := slices.Concat(slices.Collect(maps.Values(c.services))...)
	c.mu.Unlock()
	for _, s := range all {
		s.closeIdleAt(target)
	}
}

// spaceCallers calls the webhooks of one space.
type spaceCallers struct {
	*Callers
	space string
}

// ClientConfigFor implements webhook.AuthenticationInfoResolver.
func (c spaceCallers) ClientConfigFor(string) (*rest.Config, error) {
	config := nobody()
	config.Dial = c.cfg.Outbound.DialContext
	config.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
		return bounded{c.cfg.Outbound.Wrap(next)}
	}
	return config, nil
}

// ClientConfigForService implements webhook.AuthenticationInfoResolver.
func (c spaceCallers) ClientConfigForService(name, namespace string, port int) (*rest.Config, error) {
	config := nobody()
	config.Dial = func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("webhooks by Service have no address")
	}
	config.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
		return c.caller(Service{c.space, namespace, name, int32(port)}, next)
	}
	return config, nil
}

// nobody is a configuration without credentials and proxies.
func nobody() *rest.Config {
	return &rest.Config{
		UserAgent: "skerry-webhooks",
		Timeout:   callTimeout,
		Proxy:     func(*http.Request) (*url.URL, error) { return nil, nil },
	}
}

// caller returns what calls a Service, with the trust that the transport next was made with. Equal
// ones share their connections, however often upstream makes clients anew.
func (c *Callers) caller(of Service, next http.RoundTripper) http.RoundTripper {
	if c.cfg.Sites == nil || c.cfg.Services == nil {
		return failing{errors.New("this center reaches no pods, so it calls no webhooks by Service")}
	}
	trust, err := utilnet.TLSClientConfig(next)
	if err != nil || trust == nil {
		return failing{fmt.Errorf("the trust of webhook %s is not known: %w", of, err)}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.services[of]
	for _, s := range all {
		if s.trusts(trust) {
			return bounded{s}
		}
	}
	c.forgetLocked(time.Now().Add(-keptUnused))
	c.makePlaceLocked(of)
	all = c.services[of]
	s := newServiceCaller(c, of, trust)
	if len(all) == maxTrusts {
		all[0].closeIdle(nil)
		all = all[1:]
	}
	c.services[of] = append(all[:len(all):len(all)], s)
	return bounded{s}
}

// forgetLocked forgets what was not called since then: its Service, or its space, may be gone. Who
// still has it may go on calling.
func (c *Callers) forgetLocked(then time.Time) {
	for of, all := range c.services {
		all = slices.DeleteFunc(slices.Clone(all), func(s *serviceCaller) bool {
			return s.used.Load() < then.UnixNano()
		})
		if c.services[of] = all; len(all) == 0 {
			delete(c.services, of)
		}
	}
}

// makePlaceLocked forgets the Service of the space that was called longest ago, where the space has
// as many as it may: it can name new ones as often as it likes.
func (c *Callers) makePlaceLocked(of Service) {
	if _, known := c.services[of]; known {
		return
	}
	var oldest Service
	var at int64
	n := 0
	for other, all := range c.services {
		if other.Space != of.Space {
			continue
		}
		n++
		last := int64(0)
		for _, s := range all {
			last = max(last, s.used.Load())
		}
		if n == 1 || last < at {
			oldest, at = other, last
		}
	}
	if n < maxServices {
		return
	}
	for _, s := range c.services[oldest] {
		s.closeIdle(nil)
	}
	delete(c.services, oldest)
}

// maxServices is to how many Services of one space connections are kept.
const maxServices = 64

// keptUnused is how long what calls a Service is kept although nobody calls it.
const keptUnused = 10 * time.Minute

// maxTrusts is with how many bundles connections to one Service are kept: a configuration gets a
// new one now and then, and several configurations may name one Service.
const maxTrusts = 4

type failing struct{ err error }

// RoundTrip implements http.RoundTripper.
func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

// names has each Service at its name.
type names struct{}

// ResolveEndpoint implements webhook.ServiceResolver.
func (names) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	return &url.URL{Scheme: "https",
		Host: Service{Namespace: namespace, Name: name, Port: port}.host()}, nil
}
