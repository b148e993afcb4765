package services

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/store/storetest/leak"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/tunneltest"
	"skerry.dev/skerry/tunnel/upward"
)

func TestMain(m *testing.M) { leak.Main(m) }

type m = map[string]any

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	storetest.Eventually(t, what, ok)
}

// inventory is what the site knows of the objects at the target.
type inventory map[string]store.Key

func (i inventory) ByUID(uid string) (store.Key, bool) {
	k, known := i[uid]
	return k, known
}

// parent joins calls with a Service that sends back what it gets, behind a greeting.
type parent struct {
	mu    sync.Mutex
	calls []upward.ServiceCall
	cut   bool
	fault string // nobody answers, for this reason
	moves string // the host that is on its way to another site
	echo  string // of the Pod that answers
	here  []upward.Here
	child tunnel.Conn
	deaf  tunnel.Conn // nil, or whose streams nobody hears
}

func newParent(t *testing.T) *parent {
	p := &parent{echo: echo(t)}
	p.child = tunneltest.ServeStreams(t, upward.Server{Handler: p})
	return p
}

func (p *parent) OpenStream(ctx context.Context) (tunnel.Stream, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		return nil, errors.New("cut off")
	}
	if p.deaf != nil {
		return p.deaf.OpenStream(ctx)
	}
	return p.child.OpenStream(ctx)
}

func (p *parent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	space, _, err := upward.Arrived(r.Header, "paris")
	call, wrong := upward.ReadServiceCall(r)
	if err != nil || wrong != nil || space != "shop" || !upward.IsServiceCall(r.Header) {
		upward.WriteFault(w, &exchange.Fault{Code: http.StatusBadRequest, Message: "no call"})
		return
	}
	p.mu.Lock()
	p.calls = append(p.calls, call)
	fault := p.fault
	upward.LeadHere(w.Header(), p.here)
	if p.moves != "" && p.moves == call.Host {
		fault = exchange.Moving
	}
	p.mu.Unlock()
	if fault != "" {
		upward.WriteFault(w, &exchange.Fault{Code: http.StatusServiceUnavailable, Reason: fault, Message: "it says " + fault})
		return
	}
	here, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", p.echo)
	if err == nil {
		_, err = fmt.Fprintf(here, "port %d: ", call.Port)
	}
	if err != nil {
		upward.WriteFault(w, exchange.FaultOf(err))
		return
	}
	_ = upward.AnswerServiceCall(w, r, here)
}

// echo is where a Pod sends back what it gets, until that ends.
func echo(t *testing.T) string { return tunneltest.Serve(t, tunneltest.Echo).String() }

// site is a cluster with a Service web of space shop, which reaches it, and a Pod of the space with the address
// of this machine.
type site struct {
	*Services
	api   *targettest.Server
	up    *parent
	uid   string       // of the Service
	next  string       // of another one, web-next
	desk  string       // of another one, of space desk
	off   bool         // the site has no gateway
	again atomic.Int32 // how often the Service was to be written anew
	// here answers for Pods of the site; nil does not.
	here func(ctx context.Context, r *exchange.Request) (*http.Response, error)
	// times are those of leading, zero for the usual ones.
	times leadTimes
	// waits is how long callers wait, zero for the usual time.
	waits time.Duration
	log   logged
}

// logged is what a site has written to its log.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), text)
}

// count is how often a text is in the log.
func (l *logged) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

const loopback = "127.0.0.1"

func namespace(space, uid string) m {
	return m{"metadata": m{"labels": m{target.LabelSite: "s-1"},
		"annotations": m{target.AnnotationOrigin: space + "/", target.AnnotationSpaceUID: uid}}}
}

// running is a Pod with the address of this machine.
func running(phase string) m {
	return m{"spec": m{"nodeName": "n"}, "status": m{"podIP": loopback, "phase": phase}}
}

// service is a Service as it is delivered.
func service(reach string, ports ...any) m {
	notes := m{target.AnnotationOrigin: "shop/", target.AnnotationOriginUID: "o-web"}
	if reach != "" {
		notes[target.AnnotationReach] = reach
	}
	return m{"metadata": m{"name": "web", "namespace": "app", "annotations": notes, "labels": m{target.LabelSite: "s-1"}}, "spec": m{
		"clusterIP": "10.96.0.9", "ipFamilies": []any{"IPv4"}, "selector": m{"app": "web"}, "ports": ports}}
}

func port(name string, number int, protocol string) m {
	return m{"name": name, "port": number, "protocol": protocol}
}

func newAPI(t *testing.T) *targettest.Server {
	api := targettest.New(t)
	api.Put("v1", "Namespace", "", "app", namespace("shop", "u-shop"))
	api.Put("v1", "Namespace", "", "front", namespace("shop", "u-shop"))
	api.Put("v1", "Pod", "front", "caller", running("Running"))
	return api
}

func newSite(t *testing.T) *site {
	api := newAPI(t)
	uid := api.Put("v1", "Service", "app", "web", service(target.ReachSpace, port("http", 80, "TCP"),
		port("dns", 53, "UDP"), port("also", 81, "")))
	return run(t, &site{api: api, up: newParent(t), uid: uid}, t.TempDir())
}

// run runs a site until the test ends.
func run(t *testing.T, s *site, dir string) *site {
	stop := s.start(t, dir)
	t.Cleanup(stop)
	return s
}

// start runs a site until stop is called.
func (s *site) start(t *testing.T, dir string) (stop func()) {
	clients := target.NewClients(target.Cluster(s.api.Config()))
	c := Config{Dir: dir, Clients: clients, Up: s.up, Metrics: NewMetrics(),
		Log:   slog.New(slog.NewTextHandler(&s.log, nil)),
		Again: s.writeAnew,
		Here:  s.here,
		Inventory: inventory{s.uid: {Space: "shop", Resource: "services", Namespace: "app", Name: "web"},
			s.next: {Space: "shop", Resource: "services", Namespace: "app", Name: "web-next"},
			s.desk: {Space: "desk", Resource: "services", Namespace: "app", Name: "db"}}}
	if !s.off {
		c.Address = func(context.Context) (netip.Addr, error) { return netip.MustParseAddr(loopback), nil }
	}
	s.Services = New(c)
	s.newcomers.patience = 200 * time.Millisecond
	if s.waits != 0 {
		s.patience = s.waits
	}
	if s.times != (leadTimes{}) {
		s.Services.times = s.times
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		clients.CloseIdle()
	})
}

// slice is what the site keeps beside the cluster's own slices, nil for nothing.
func (s *site) slice() m {
	return s.api.Object("discovery.k8s.io", "endpointslices", "app", "skerry-web")
}

// ready reports whether the slice has connections come to the agent.
func (s *site) ready() bool {
	o := s.slice()
	if o == nil {
		return false
	}
	endpoints, _ := o["endpoints"].([]any)
	return len(endpoints) == 1 && endpoints[0].(m)["conditions"].(m)["ready"] == true
}

// ports are the ports of the slice by name.
func (s *site) portsOf() map[string]int {
	out := map[string]int{}
	if o := s.slice(); o != nil {
		list, _ := o["ports"].([]any)
		for _, p := range list {
			if name, has := p.(m)["name"].(string); has { // the fake API leaves what an apply has taken off of a list
				out[name] = int(p.(m)["port"].(float64))
			}
		}
	}
	return out
}

// dial connects to a port of the Service, as kube-proxy has a caller do.
func (s *site) dial(t *testing.T, name string) *net.TCPConn {
	t.Helper()
	return s.dialFrom(t, loopback, name)
}

// dialFrom is dial of a caller with another address of this machine.
func (s *site) dialFrom(t *testing.T, from, name string) *net.TCPConn {
	t.Helper()
	var conn net.Conn
	eventually(t, "the agent accepts", func() bool {
		port, has := s.portsOf()[name]
		if !has || !s.ready() {
			return false
		}
		var err error
		at := net.JoinHostPort(loopback, strconv.Itoa(port))
		caller := net.Dialer{Timeout: 5 * time.Second, LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		conn, err = caller.DialContext(t.Context(), "tcp", at)
		return err == nil
	})
	t.Cleanup(func() { conn.Close() })
	return conn.(*net.TCPConn)
}

// refused counts what was reset for a reason.
func (s *site) refusedFor(reason string) int {
	var out dto.Metric
	if s.Metrics.refused.WithLabelValues(reason).Write(&out) != nil {
		return -1
	}
	return int(out.GetCounter().GetValue())
}

// clusterSlice is a slice that the cluster makes of the Service.
func (s *site) clusterSlice(ready bool) {
	s.api.Put("discovery.k8s.io/v1", "EndpointSlice", "app", "web-abcde", m{
		"metadata":  m{"labels": m{target.LabelSite: "s-1", serviceName: "web"}},
		"endpoints": []any{m{"addresses": []any{"10.244.0.5"}, "conditions": m{"ready": ready}}}})
}
