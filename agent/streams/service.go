package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
)

// A Service of a space is called from another site: the agent takes one of its ready Pods, as the cluster's
// own EndpointSlices have them. What the agent itself has put into slices is no Pod: there is no second hop.

// mostTried is how many Pods of a Service are tried for one connection.
const mostTried = 3

// directTime is how long a Pod may take to accept a connection.
const directTime = 2 * time.Second

var endpointSlices = target.Resource{Group: "discovery.k8s.io", Version: "v1", Plural: "endpointslices"}

const noneReady = "none of its pods is ready here"

// serve connects to a ready Pod of a Service. What was found a moment ago is believed for as long as one of these
// Pods answers.
func (s *Site) serve(
	ctx context.Context,
	c *target.Client,
	r *exchange.Request,
	namespace string,
) (*http.Response, error) {
	k := asked{r.Space, r.SpaceUID, r.Namespace, r.Pod, r.UID, r.Query.Get(exchange.OptionPort)}
	if is, known := s.found.get(k); known && len(is.of(r.Query.Get(exchange.OptionHost))) > 0 {
		resp, err := s.any(ctx, c, r, namespace, is)
		if err == nil || ctx.Err() != nil || exchange.IsDenied(err) {
			return resp, err
		}
	}
	if s.Idle != nil && s.Idle(namespace, r.Pod) {
		return nil, idle(ctx, r)
	}
	is, err := s.found.share(ctx, k, func() (serving, error) { return s.resolve(ctx, c, r, namespace) })
	if err != nil {
		return nil, err
	}
	return s.any(ctx, c, r, namespace, is)
}

// resolve finds the ready Pods of a Service, and the policies of its namespace.
func (s *Site) resolve(
	ctx context.Context,
	c *target.Client,
	r *exchange.Request,
	namespace string,
) (is serving, err error) {
	if err := ofSpace(ctx, c, r, namespace); err != nil {
		return serving{}, err
	}
	live, err := c.Get(ctx, resourceOf(r), namespace, r.Pod, false)
	switch {
	case apierrors.IsNotFound(err), err == nil && live.Metadata.UID != r.UID:
		return serving{}, missing(r)
	case err != nil:
		return serving{}, unreachable(err)
	}
	var spec serviceSpec
	if err := json.Unmarshal(live.Spec, &spec); err != nil {
		return serving{}, unreachable(fmt.Errorf("service %s cannot be read: %w", r.Pod, err))
	}
	is.affinity = spec.affinity()
	name, known := spec.portName(r.Query.Get(exchange.OptionPort))
	if !known || len(spec.Selector) == 0 {
		return serving{}, unserved(r, "it has no such TCP port, or no selector")
	}
	if is.backends, err = backendsOf(ctx, c, live, name); err == nil {
		is.policies, err = policiesOf(ctx, c, namespace)
	}
	if err != nil {
		return serving{}, unreachable(err)
	}
	return is, nil
}

// any connects to one of some Pods.
func (s *Site) any(
	ctx context.Context,
	c *target.Client,
	r *exchange.Request,
	namespace string,
	is serving,
) (*http.Response, error) {
	backends := is.of(r.Query.Get(exchange.OptionHost))
	rand.Shuffle(len(backends), func(i, j int) { backends[i], backends[j] = backends[j], backends[i] })
	answered := s.back(r, is.affinity, backends)
	if len(backends) == 0 {
		return nil, idle(ctx, r)
	}
	why := noneReady
	var denied error
	for _, b := range backends[:min(len(backends), mostTried)] {
		began := time.Now()
		resp, err := s.call(ctx, c, r, namespace, b, is.policies)
		exchange.TraceOf(ctx).Add(tried(b, err, time.Since(began)))
		switch {
		case err == nil:
			answered(b)
			resp.Header.Set(exchange.HeaderReady, strconv.Itoa(len(backends)))
			return resp, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case exchange.IsDenied(err):
			denied = err
		}
		why = err.Error()
	}
	if denied != nil {
		return nil, denied
	}
	return nil, unserved(r, why)
}

// tried is what a trace says of a Pod that was called.
func tried(b backend, err error, took time.Duration) exchange.Hop {
	hop := exchange.Hop{At: ".", Micros: took.Microseconds(), Pod: b.pod}
	switch {
	case err == nil:
		hop.Reason, hop.Message = exchange.Answered, fmt.Sprintf("a ready pod accepts the connection at port %d", b.port)
	case exchange.IsDenied(err):
		hop.Reason, hop.Message = exchange.Denied, err.Error()
	default:
		hop.Reason, hop.Message = exchange.Refused, fmt.Sprintf("a pod that counts as ready does not answer at port %d: %v",
			b.port, err)
	}
	return hop
}

// idle says that no Pod of a Service is ready.
func idle(ctx context.Context, r *exchange.Request) error {
	err := unserved(r, noneReady)
	exchange.TraceOf(ctx).Add(exchange.Hop{At: ".", Reason: exchange.NoReadyPod, Message: err.Error()})
	return err
}

func unserved(r *exchange.Request, why string) error {
	of := "port " + r.Query.Get(exchange.OptionPort)
	if host := r.Query.Get(exchange.OptionHost); host != "" {
		of += " of Pod " + host
	}
	return &exchange.Fault{Code: http.StatusServiceUnavailable, Reason: "ServiceUnavailable", After: 1,
		Message: fmt.Sprintf("service %s/%s, %s: %s", r.Namespace, r.Pod, of, why)}
}

type serviceSpec struct {
	Selector              map[string]string
	SessionAffinity       string
	SessionAffinityConfig struct{ ClientIP struct{ TimeoutSeconds int } }
	Ports                 []struct {
		Name, Protocol string
		Port           int
	}
}

// portName is the name of the TCP port with a number, by which slices know it.
func (s *serviceSpec) portName(number string) (string, bool) {
	for _, p := range s.Ports {
		if strconv.Itoa(p.Port) == number && (p.Protocol == "" || p.Protocol == "TCP") {
			return p.Name, true
		}
	}
	return "", false
}

// backend is a port of a ready Pod of a Service.
type backend struct {
	address, pod, uid, host string
	port                    int
}

// backendsOf lists what answers for a port of a Service.
func backendsOf(ctx context.Context, c *target.Client, service *target.Object, port string) (out []backend, err error) {
	l := target.Listing{Resource: endpointSlices, Namespace: service.Metadata.Namespace,
		LabelSelector: "kubernetes.io/service-name=" + service.Metadata.Name}
	_, err = c.List(ctx, l, func(o *target.Object) error {
		if o.ControllerUID() == service.Metadata.UID {
			out = append(out, backendsIn(o, port)...)
		}
		return nil
	})
	return out, err
}

// backendsIn reads a slice. One that cannot be understood has none.
func backendsIn(o *target.Object, port string) (out []backend) {
	var endpoints []struct {
		Addresses  []string
		Conditions struct{ Ready *bool }
		Hostname   string
		TargetRef  *struct{ Kind, Name, UID string }
	}
	var ports []struct {
		Name *string
		Port *int
	}
	if json.Unmarshal(o.Endpoints, &endpoints) != nil || json.Unmarshal(o.Ports, &ports) != nil {
		return nil
	}
	for _, p := range ports {
		if p.Port == nil || p.Name == nil && port != "" || p.Name != nil && *p.Name != port {
			continue
		}
		for _, e := range endpoints {
			ready := e.Conditions.Ready == nil || *e.Conditions.Ready
			if ready && len(e.Addresses) > 0 && e.TargetRef != nil && e.TargetRef.Kind == "Pod" {
				out = append(out, backend{e.Addresses[0], e.TargetRef.Name, e.TargetRef.UID, e.Hostname, *p.Port})
			}
		}
	}
	return out
}

// call connects to one Pod, which has to be the space's: straight where the agent has a way into the network of
// Pods, else through the API server. The Pod is read once the connection stands, so that no byte reaches another
// one that has got its address meanwhile.
func (s *Site) call(
	ctx context.Context,
	c *target.Client,
	r *exchange.Request,
	namespace string,
	b backend,
	all policies,
) (*http.Response, error) {
	of := *r
	of.Pod, of.UID, of.Resource = b.pod, b.uid, ""
	if !s.Pods.Placed(store.Key{Space: r.Space, Resource: "pods", Namespace: r.Namespace, Name: b.pod}, b.uid) {
		return nil, missing(&of)
	}
	conn, err := s.way.dial(ctx, r.Space, net.JoinHostPort(b.address, strconv.Itoa(b.port)))
	if err != nil {
		return nil, err
	}
	live, err := s.callablePod(ctx, c, &of, namespace, b)
	if err == nil {
		err = s.admit(&of, all, live, b.port)
	}
	switch {
	case err != nil && conn != nil:
		conn.Close()
		return nil, err
	case err != nil:
		return nil, err
	case conn != nil:
		context.AfterFunc(ctx, func() { conn.Close() })
		return &http.Response{StatusCode: http.StatusSwitchingProtocols, Header: exchange.Bytes(), Body: conn}, nil
	}
	of.Query = map[string][]string{exchange.OptionPort: {strconv.Itoa(b.port)}}
	resp, err := s.connect(ctx, c, &of, live)
	if err == nil && resp.StatusCode != http.StatusSwitchingProtocols {
		defer resp.Body.Close()
		return nil, exchange.Refusal(resp)
	}
	return resp, err
}

// callablePod reads the Pod of a backend, and returns an error unless it may be connected to.
func (s *Site) callablePod(
	ctx context.Context,
	c *target.Client,
	r *exchange.Request,
	namespace string,
	b backend,
) (*target.Object, error) {
	live, err := c.Get(ctx, resourceOf(r), namespace, b.pod, false)
	if err != nil {
		return nil, err
	}
	var status struct{ PodIP string }
	if live.Metadata.UID != b.uid || json.Unmarshal(live.Status, &status) != nil || status.PodIP != b.address {
		return nil, missing(r)
	}
	return live, callable(r, live)
}

// way knows of which spaces Pods cannot be reached straight: this machine may have no way into the network of Pods,
// and a space's own policies may let nobody in. The zero value knows nothing.
type way struct {
	mu     sync.Mutex
	closed map[string]time.Time // until when, by space
}

// noWay is for how long no way is looked for after there was none.
const noWay = time.Minute

// dial connects to a Pod of a space. It returns nil where there is no way.
func (w *way) dial(ctx context.Context, space, address string) (net.Conn, error) {
	if w.isClosed(space) {
		return nil, nil
	}
	conn, err := (&net.Dialer{Timeout: directTime}).DialContext(ctx, "tcp", address)
	if err == nil || ctx.Err() != nil || errors.Is(err, syscall.ECONNREFUSED) {
		return conn, err // a Pod that refuses was reached
	}
	w.close(space)
	return nil, nil
}

func (w *way) isClosed(space string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Before(w.closed[space])
}

func (w *way) close(space string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(w.closed, func(_ string, until time.Time) bool { return now.After(until) })
	if w.closed == nil {
		w.closed = map[string]time.Time{}
	}
	w.closed[space] = now.Add(noWay)
}
