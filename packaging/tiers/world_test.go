package tiers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	agentstreams "skerry.dev/skerry/agent/streams"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/server/gateway"
	"skerry.dev/skerry/server/services"
	"skerry.dev/skerry/server/streams"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest/leak"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/tunneltest"
	"skerry.dev/skerry/tunnel/upward"
)

func TestMain(m *testing.M) { leak.Main(m) }

type m = map[string]any

// log has who asked whom, as "top>nordic" downward and "nordic^top" upward.
type log struct {
	mu  sync.Mutex
	all []string
}

func (l *log) add(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, what)
}

// take returns what was asked since the last call.
func (l *log) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all
	l.all = nil
	return all
}

// tier is a center, a relay or a site. All have space shop, whose Service app/web has the UID NAME-web here.
type tier struct {
	name   string
	parent *tier
	log    *log
	// on are the children where the Service is, named those that have its name.
	mu        sync.Mutex
	on, named []string
	moves     bool     // what answers is on its way
	closed    []string // TARGET/WAY, by spec.allow of its SyncTarget
	spaceUID  string
	down      map[string]tunnel.Conn // to the children
	up        tunnel.Conn            // to the parent
	shares    *streams.Streams
	services  *services.Services
	gateway   *gateway.Gateway
	call      *http.Transport // of the Pods of a site
	api       *targettest.Server
}

const (
	space   = "shop"
	service = "web"
)

var web = store.Key{Space: space, Resource: exchange.Services, Namespace: "app", Name: service}

func (c *tier) uid() string { return c.name + "-web" }

// newCenter makes a center below a parent, nil for the top.
func newCenter(t testing.TB, name string, parent *tier) *tier {
	c := &tier{name: name, parent: parent, log: &log{}, spaceUID: "s-" + name, down: map[string]tunnel.Conn{}}
	config := services.Config{Serving: c.serving, Log: slog.New(slog.DiscardHandler),
		Closed: func(string, store.Key) []string { return nil }, Named: c.names, Callable: c.callable,
		Moves:    func(store.Key) bool { return c.moves },
		Affinity: func(store.Key) time.Duration { return 0 },
		Imports:  func(store.Key) (string, []services.Offer, bool) { return "", nil, false },
		RTT:      func(string) (time.Duration, bool) { return 0, false }}
	if parent != nil {
		c.log = parent.log
		config.Parent = opens(func(ctx context.Context) (tunnel.Stream, error) {
			c.log.add(name + "^" + parent.name)
			return c.up.OpenStream(ctx)
		})
	}
	c.shares = streams.New(streams.Config{Targets: c, SpaceUID: func(string) string { return c.spaceUID },
		Closes: func(target, way string) bool { return slices.Contains(c.closed, target+"/"+way) }})
	config.Sites = c.shares
	c.services = services.New(config)
	c.gateway = gateway.New(gateway.Config{Services: c.services, Log: slog.New(slog.DiscardHandler)})
	if parent != nil {
		c.api = targettest.New(t)
		c.api.Put("v1", "Namespace", "", "app", namespaceOf(parent))
		c.api.Put("v1", "Pod", "app", "web-1", m{"metadata": m{"uid": "u-pod"}})
		clients := target.NewClients(target.Relay(func(string) *rest.Config { return c.api.Config() }))
		t.Cleanup(clients.CloseIdle)
		c.join(t, agentstreams.New(agentstreams.Config{Pods: c, Log: slog.New(slog.DiscardHandler),
			Backend: &agentstreams.Relay{Client: clients.For, Children: children{c},
				Owns: func(uid string) bool { return uid == "u-pod" }}}))
	}
	return c
}

// join connects a child with its parent, whose requests are served by a handler.
func (c *tier) join(t testing.TB, h tunnel.StreamHandler) {
	c.up = tunneltest.ServeStreams(t, c.parent.gateway.For(tunnel.Identity{Target: c.name}))
	c.parent.down[c.name] = tunneltest.ServeStreams(t, h)
}

func namespaceOf(parent *tier) m {
	return m{"metadata": m{"annotations": m{target.AnnotationOrigin: space + "/", target.AnnotationSpaceUID: parent.spaceUID}}}
}

type opens func(ctx context.Context) (tunnel.Stream, error)

func (o opens) OpenStream(ctx context.Context) (tunnel.Stream, error) { return o(ctx) }

// children are what a relay's agent asks.
type children struct{ *tier }

func (c children) Do(ctx context.Context, target string, r *exchange.Request) (*http.Response, error) {
	return c.shares.Do(ctx, target, r)
}

func (c children) Call(ctx context.Context, r *exchange.Request) (*http.Response, error) {
	return c.services.Answer(ctx, r)
}

func (c children) Trace(ctx context.Context, r *exchange.Request) (*http.Response, error) {
	return c.services.Call(ctx, r)
}

// OpenStream implements tunnel.StreamOpener of the sessions with the children.
func (c *tier) OpenStream(ctx context.Context, target string) (tunnel.Stream, error) {
	c.log.add(c.name + ">" + target)
	return c.down[target].OpenStream(ctx)
}

// serving is delivery.Serving.
func (c *tier) serving(target string, k store.Key, uid string) (at []string, above string, has bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k != web || uid != c.uid() || target != "" && !slices.Contains(append(c.named, c.on...), target) {
		return nil, "", false
	}
	if c.parent != nil {
		above = c.parent.uid()
	}
	return slices.DeleteFunc(slices.Clone(c.on), func(name string) bool { return name == target }), above, true
}

// names is what delivery.NamedOf returns.
func (c *tier) names(k store.Key, uid string) (at []string, reaches bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k != web || uid != c.uid() {
		return nil, false
	}
	at = append(slices.Clone(c.named), c.on...)
	slices.Sort(at)
	return slices.Compact(at), true
}

// callable is what delivery.CallableOf returns.
func (c *tier) callable(k store.Key, target string) (string, error) {
	if k != web || c.down[target] == nil {
		return "", errors.New("not found")
	}
	return c.uid(), nil
}

// Placed implements agentstreams.Pods.
func (c *tier) Placed(k store.Key, uid string) bool { return k.Space == space && uid == "u-pod" }

// Delivered implements agentstreams.Pods.
func (c *tier) Delivered(k store.Key, origin string) string {
	if k == web && origin == c.parent.uid() {
		return c.uid()
	}
	return ""
}

// newSite makes a site below a center. Its Pod of the Service is ready when it is given an address. A NetworkPolicy lets
// the caller of dial in, and nobody else: so each call shows that all tiers pass on who calls.
func newSite(t testing.TB, name string, parent *tier) *tier {
	c := &tier{name: name, parent: parent, log: parent.log, api: targettest.New(t)}
	c.api.Put("v1", "Namespace", "", "app", namespaceOf(parent))
	c.api.Put("v1", "Service", "app", service, m{"metadata": m{"uid": c.uid()},
		"spec": m{"selector": m{"app": "web"}, "ports": []any{m{"name": "http", "port": 80}}}})
	c.api.Put("networking.k8s.io/v1", "NetworkPolicy", "app", "callers", m{"spec": m{"podSelector": m{}, "ingress": []any{
		m{"from": []any{m{"namespaceSelector": m{}, "podSelector": m{"matchLabels": m{"app": "front"}}}}}}}})
	clients := target.NewClients(target.Cluster(c.api.Config()))
	t.Cleanup(clients.CloseIdle)
	c.join(t, agentstreams.New(agentstreams.Config{Pods: c, Log: slog.New(slog.DiscardHandler), Backend: &agentstreams.Site{
		Client: clients.For, Pods: c, As: func(c *target.Client, _, _ string) *target.Client { return c },
		There: func(_, namespace string) string { return namespace }, Call: c.traced,
	}}))
	c.call = upward.NewTransport(c.up)
	t.Cleanup(c.call.CloseIdleConnections)
	return c
}

// runs has a Pod of the Service ready at a site, which is served by a function, and the Service placed on the way
// there. Whatever else it is at has its name alone.
func (c *tier) runs(t testing.TB, serve func(net.Conn)) {
	at := tunneltest.Serve(t, serve)
	c.api.Put("v1", "Pod", "app", "web-1", m{"metadata": m{"uid": "u-pod"}, "spec": m{}, "status": m{
		"podIP": "127.0.0.1", "conditions": []any{m{"type": "Ready", "status": "True"}}}})
	c.api.Put("discovery.k8s.io/v1", "EndpointSlice", "app", "web-abcde", m{
		"metadata": m{"labels": m{"kubernetes.io/service-name": service}, "ownerReferences": []any{
			m{"apiVersion": "v1", "kind": "Service", "name": service, "uid": c.uid(), "controller": true}}},
		"endpoints": []any{m{"addresses": []any{"127.0.0.1"}, "conditions": m{"ready": true},
			"targetRef": m{"kind": "Pod", "namespace": "app", "name": "web-1", "uid": "u-pod"}}},
		"ports": []any{m{"name": "http", "port": at.Port}}})
	for at := c; at.parent != nil; at = at.parent {
		at.parent.on = []string{at.name}
	}
}

// greets says who it is, and then what it gets.
func (c *tier) greets(conn net.Conn) {
	_, _ = io.WriteString(conn, c.name+": ")
	_, _ = io.Copy(conn, conn)
}

// fleet is top above site direct, relay nordic with sites oslo and bergen and relay deep with site edge, and relay
// south with site rome. All relays have placed the name of the Service at their first site.
type fleet map[string]*tier

func newFleet(t testing.TB) fleet {
	f := fleet{"top": newCenter(t, "top", nil)}
	for _, c := range []struct{ name, parent string }{{"nordic", "top"}, {"south", "top"}, {"deep", "nordic"}} {
		f[c.name] = newCenter(t, c.name, f[c.parent])
	}
	for _, s := range []struct{ name, parent string }{{"direct", "top"}, {"oslo", "nordic"}, {"bergen", "nordic"}, {"rome", "south"}, {"edge", "deep"}} {
		f[s.name] = newSite(t, s.name, f[s.parent])
	}
	f["top"].named = []string{"direct", "nordic", "south"}
	f["nordic"].named, f["nordic"].on = []string{"oslo", "bergen", "deep"}, []string{"oslo"}
	f["deep"].named, f["deep"].on = []string{"edge"}, []string{"edge"}
	f["south"].named, f["south"].on = []string{"rome"}, []string{"rome"}
	return f
}

// dial connects from a Pod of a site to the Service.
func (c *tier) dial(t testing.TB) (io.ReadWriteCloser, error) {
	return c.dialAs(t, space, c.parent.uid())
}

func (c *tier) dialAs(t testing.TB, space, uid string) (io.ReadWriteCloser, error) {
	ctx, cancel := context.WithCancel(t.Context())
	late := time.AfterFunc(3*time.Second, cancel)
	caller := exchange.Caller{Namespace: "app", Labels: map[string]string{"app": "front"},
		Address: netip.MustParseAddr("10.42.0.5")}
	conn, err := upward.Call(ctx, c.call, space, "", upward.ServiceCall{Namespace: "app", Service: service, UID: uid, Port: 80,
		Caller: caller.Encode()})
	if err == nil && !late.Stop() {
		conn.Close()
		err = context.DeadlineExceeded
	}
	return conn, err
}

// ask connects, says something, ends its half and returns the whole answer.
func (c *tier) ask(t testing.TB, text string) (string, error) {
	conn, err := c.dial(t)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	said := make(chan error, 1)
	go func() {
		_, err := io.WriteString(conn, text)
		said <- errors.Join(err, conn.(exchange.CloseWriter).CloseWrite())
	}()
	answer, err := io.ReadAll(conn)
	return string(answer), errors.Join(err, <-said)
}

func joined(all []string) string { return strings.Join(all, " ") }

func wrote(n int64) string { return fmt.Sprintf("%d KiB", n>>10) }
