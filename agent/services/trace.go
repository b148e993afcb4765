package services

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
)

// A user may ask why a Service answers at this site, or does not. Then the agent calls it in the name of a Pod that is
// here, the way that this Pod's connection would take, and ends the call without a byte. Each place on the way says
// what it decided (exchange.Trace).

// CallOf returns what calls a Service of the site, live as the cluster has it, and says what came of that.
func CallOf(s *Services) func(context.Context, *exchange.Request, *target.Object) (*exchange.Traced, error) {
	return func(ctx context.Context, r *exchange.Request, live *target.Object) (*exchange.Traced, error) {
		is, err := specOf(live)
		if err != nil {
			return nil, err
		}
		c := &tracedCall{s: s, r: r, live: live, is: is, of: owner{r.Space, r.SpaceUID},
			host: r.Query.Get(exchange.OptionHost)}
		if err := c.takeCaller(r.Query.Get(exchange.OptionAs)); err != nil {
			return nil, err
		}
		return c.run(ctx)
	}
}

// tracedCall is one call of a Service for a user.
type tracedCall struct {
	s    *Services
	r    *exchange.Request
	live *target.Object
	is   spec
	of   owner
	host string
	port uint16
	name string // of the port
	// from is what other sites are told of the caller, as its name in the space.
	from, as string
}

func (c *tracedCall) run(ctx context.Context) (*exchange.Traced, error) {
	ctx, trace := exchange.Tracing(ctx)
	found := &exchange.Traced{As: c.as}
	if !c.takePort(c.r.Query.Get(exchange.OptionPort)) {
		found.Reason, found.Message = exchange.NoPort, c.noPort()
		found.Hops = []exchange.Hop{{At: ".", Reason: found.Reason, Message: found.Message}}
		return found, nil
	}
	found.Port = c.port
	began := time.Now()
	here, way, err := c.look(ctx)
	if err != nil {
		return nil, err
	}
	var conn io.ReadWriteCloser
	if way != nil {
		if conn, err = c.connect(ctx, trace, way); err == nil {
			conn.Close()
		}
	}
	took := time.Since(began)
	here.At, here.Micros = ".", took.Microseconds()
	found.Micros, found.Hops = here.Micros, append([]exchange.Hop{here}, trace.Hops()...)
	switch {
	case way == nil:
		found.Reason, found.Message = here.Reason, here.Message
	case err != nil:
		found.Reason, found.Message = decided(trace.Hops(), err), exchange.FaultOf(err).Message
	case took > callTime:
		found.Reason = exchange.Late
		found.Message = fmt.Sprintf("a pod has accepted the connection after %s; callers are reset after %s",
			took.Round(time.Millisecond), callTime)
	default:
		found.Reason = exchange.Answered
	}
	return found, nil
}

// traceTime is how long the call may take. Whoever asks it is told more than a caller, whom callTime resets.
const traceTime = callTime + 2*time.Second

// connect takes a way as a caller's connection does, with one of the seats.
func (c *tracedCall) connect(
	ctx context.Context, trace *exchange.Trace, way func(context.Context) (io.ReadWriteCloser, error),
) (io.ReadWriteCloser, error) {
	began := time.Now()
	give := c.s.seats.Take(c.of.space)
	if give == nil {
		err := &exchange.Fault{Code: http.StatusTooManyRequests, Reason: "TooManyRequests", Message: errNoSeat.Error()}
		trace.Add(exchange.HopOf(".", err, time.Since(began)))
		return nil, err
	}
	defer give()
	ctx, cancel := context.WithTimeout(ctx, traceTime)
	defer cancel()
	conn, err := way(ctx)
	if err != nil && len(trace.Hops()) == 0 {
		trace.Add(exchange.HopOf("..", err, time.Since(began)))
	}
	return conn, err
}

// alone ends why a Service leads nowhere else.
const alone = ", so pods here get those of this site alone"

// look finds out where callers of the Service get to at this site, and returns the way that they take; nil where there
// is none.
func (c *tracedCall) look(ctx context.Context) (
	here exchange.Hop, way func(context.Context) (io.ReadWriteCloser, error), err error,
) {
	n := nameOf(c.live)
	c.s.mu.Lock()
	e, ready := c.s.entries[n], c.s.readyLocked(n)
	c.s.mu.Unlock()
	local := func(why string) (exchange.Hop, func(context.Context) (io.ReadWriteCloser, error), error) {
		return exchange.Hop{Reason: exchange.Local, Message: why}, c.here, nil
	}
	switch {
	case !reaches(c.live):
		return local("the Service does not reach its space (skerry.dev/reach)" + alone)
	case c.s.Address == nil:
		return local("the site has no gateway (--gateway-address of its agent is off)" + alone)
	case e == nil || e.of.uid != c.live.Metadata.UID:
		return local("the agent does not lead it elsewhere, or not yet: it needs an address of the agent's family, a " +
			"selector and a TCP port" + alone)
	}
	slice, err := c.slice(ctx)
	switch {
	case err != nil:
		return exchange.Hop{}, nil, err
	case slice.ready && ready:
		here.Message = "its pods here are about to end, and callers are led to the agent, " + slice.text
	case slice.ready:
		here.Message = "none of its pods is ready here, so callers come to the agent, " + slice.text
	case ready:
		return local("pods of it are ready here, and callers get one of them")
	default:
		return exchange.Hop{Reason: exchange.NoEndpoint, Message: "none of its pods is ready here, and " + slice.text +
			", so its address leads to nobody; the agent's log says why"}, nil, nil
	}
	here.Reason = exchange.Gateway
	is := wish{entry: e, doorKey: doorKey{c.host, c.port}, from: c.from}
	return here, func(ctx context.Context) (io.ReadWriteCloser, error) { return c.s.connect(ctx, is) }, nil
}

// here connects to a Pod of this site.
func (c *tracedCall) here(ctx context.Context) (io.ReadWriteCloser, error) {
	if c.s.Here == nil {
		err := errors.New("this agent connects to no pods of its site")
		exchange.TraceOf(ctx).Add(exchange.HopOf(".", err, 0))
		return nil, err
	}
	of := callee{uid: c.live.Metadata.UID, spaceUID: c.r.SpaceUID,
		key: store.Key{Space: c.r.Space, Namespace: c.r.Namespace, Name: c.r.Pod}}
	conn, err := callHere(ctx, c.s, of, doorKey{c.host, c.port}, c.from)
	if t := exchange.TraceOf(ctx); err != nil && len(t.Hops()) == 0 {
		t.Add(exchange.HopOf(".", err, 0))
	}
	return conn, err
}

// remoteSlice is what the cluster has of the agent's slice of a Service, for one port.
type remoteSlice struct {
	ready bool
	text  string
}

// slice reads the agent's slice of the Service from the cluster, as kube-proxy has it.
func (c *tracedCall) slice(ctx context.Context) (remoteSlice, error) {
	client, err := c.s.Clients.For(target.RootSpace)
	if err != nil {
		return remoteSlice{}, err
	}
	name := target.RemoteSlices + c.live.Metadata.Name
	o, err := client.Get(ctx, endpointSlices, c.live.Metadata.Namespace, name, false)
	if apierrors.IsNotFound(err) || err == nil && !target.IsRemoteSlice(o, c.live.Metadata.Name) {
		return remoteSlice{text: "the EndpointSlice " + name + " of the gateway is not there"}, nil
	}
	if err != nil {
		return remoteSlice{}, err
	}
	var endpoints []struct {
		Addresses  []string
		Conditions struct{ Ready *bool }
		Hostname   string
	}
	var ports []struct {
		Name string
		Port int
	}
	if json.Unmarshal(o.Endpoints, &endpoints) != nil || json.Unmarshal(o.Ports, &ports) != nil {
		return remoteSlice{text: "the EndpointSlice " + name + " of the gateway cannot be read"}, nil
	}
	for _, p := range ports {
		for _, e := range endpoints {
			ready := e.Conditions.Ready == nil || *e.Conditions.Ready
			if p.Name == c.name && ready && len(e.Addresses) > 0 && (c.host == "" || e.Hostname == c.host) {
				text := fmt.Sprintf("endpoint %s:%d of EndpointSlice %s", e.Addresses[0], p.Port, name)
				return remoteSlice{true, text}, nil
			}
		}
	}
	return remoteSlice{text: "the EndpointSlice " + name + " of the gateway has no ready endpoint for it"}, nil
}

// takePort finds the port that is called: by number, by name, or the first.
func (c *tracedCall) takePort(port string) bool {
	for _, p := range c.is.Ports {
		if (p.Protocol == "" || p.Protocol == "TCP") &&
			(port == "" || p.Name == port || strconv.Itoa(int(p.Port)) == port) {
			c.port, c.name = p.Port, p.Name
			return true
		}
	}
	return false
}

func (c *tracedCall) noPort() string {
	var has []string
	for _, p := range c.is.Ports {
		has = append(has, strings.TrimSpace(p.Name+" "+strconv.Itoa(int(p.Port))+"/"+cmp.Or(p.Protocol, "TCP")))
	}
	return "the Service has no such TCP port; it has " + cmp.Or(strings.Join(has, ", "), "none")
}

// takeCaller finds the Pod in whose name the Service is called: the one of a name, else one in the Service's namespace,
// else one of the space, rather one that the Service does not select.
func (c *tracedCall) takeCaller(named string) error {
	type candidate struct {
		rank     int
		as, from string
	}
	var all []candidate
	c.s.mu.Lock()
	for p, is := range c.s.residents {
		at := c.s.homes[p.namespace]
		if at.owner != c.of || is.leaving {
			continue
		}
		one := candidate{as: at.name + "/" + p.name, from: callerOf(at, is)}
		if at.name != c.r.Namespace {
			one.rank = 1
		} else if c.is.selects(is.labels) {
			one.rank = 2
		}
		if named == "" || named == one.as {
			all = append(all, one)
		}
	}
	c.s.mu.Unlock()
	if len(all) == 0 && named != "" {
		return fmt.Errorf("%w: the site has no pod %s of the space that has an address of its own and has not ended",
			exchange.ErrRequest, named)
	}
	if len(all) > 0 {
		is := slices.MinFunc(all, func(a, b candidate) int {
			return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.as, b.as))
		})
		c.as, c.from = is.as, is.from
	}
	return nil
}

// decided is the reason for which nothing answered: of several, the one that is most likely to be in the way.
func decided(hops []exchange.Hop, err error) string {
	for _, reason := range []string{exchange.Moving, exchange.Denied, exchange.Limited, exchange.Closed, exchange.Late,
		exchange.Unreachable, exchange.Refused, exchange.NoReadyPod, exchange.NoName} {
		if exchange.IsMoving(err) && reason == exchange.Moving ||
			slices.ContainsFunc(hops, func(h exchange.Hop) bool { return h.Reason == reason }) {
			return reason
		}
	}
	return exchange.HopOf(".", err, 0).Reason
}
