package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"syscall"

	"github.com/urfave/cli/v2"
	"k8s.io/apimachinery/pkg/util/validation"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/outbound"
	"skerry.dev/skerry/server/delivery"
	"skerry.dev/skerry/server/ingress"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// The flags of the center's own entry from outside.
const (
	IngressListenFlag    = "ingress-listen"
	IngressAdvertiseFlag = "ingress-advertise"
	IngressBalancerFlag  = "ingress-balancer"
)

// Ingress says where the center serves Ingresses of the class skerry.
type Ingress struct {
	// Listen are HOST:PORT addresses, each for plain HTTP and TLS; none means that it serves none.
	Listen []string
	// Advertise is the name or the address in the status of these Ingresses; empty means the first one that the center is
	// reached by.
	Advertise string
	// Balancers are addresses or networks of load balancers, which say who calls by the PROXY protocol.
	Balancers []string
}

// IngressFlags are those flags. What cannot be meant is an error that usage makes.
func IngressFlags(usage func(format string, args ...any) error) []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: IngressListenFlag, EnvVars: []string{"SKERRY_INGRESS_LISTEN"},
			Usage: "HOST:PORT, for HTTP and TLS from outside to Ingresses of the class skerry, which the center serves " +
				"itself; may be given several times, as :80 and :443; without it there is none",
			Action: func(_ *cli.Context, all []string) error {
				for _, address := range all {
					if _, _, err := net.SplitHostPort(address); err != nil {
						return usage("--%s %q: write HOST:PORT, such as 0.0.0.0:443", IngressListenFlag, address)
					}
				}
				return nil
			}},
		&cli.StringFlag{Name: IngressAdvertiseFlag, EnvVars: []string{"SKERRY_INGRESS_ADVERTISE"},
			Usage: "name or address by which callers reach --" + IngressListenFlag + ", which the status of Ingresses has; " +
				"empty means the first of --advertise, else the address that the center is reached by",
			Action: func(_ *cli.Context, address string) error {
				if net.ParseIP(address) == nil && len(validation.IsDNS1123Subdomain(address)) > 0 {
					return usage("--%s %q: write a host name or an address, without a port", IngressAdvertiseFlag, address)
				}
				return nil
			}},
		&cli.StringSliceFlag{Name: IngressBalancerFlag, EnvVars: []string{"SKERRY_INGRESS_BALANCER"},
			Usage: "address or network of load balancers before --" + IngressListenFlag + ", such as 10.0.0.0/28, which say " +
				"who calls by the PROXY protocol, version 1 or 2, and are closed where they do not; may be given several times",
			Action: func(_ *cli.Context, all []string) error {
				if _, err := outbound.Parse(all); err != nil {
					return usage("--%s: %s", IngressBalancerFlag, err)
				}
				return nil
			}},
	}
}

// IngressOf reads those flags.
func IngressOf(c *cli.Context) Ingress {
	return Ingress{Listen: c.StringSlice(IngressListenFlag), Advertise: c.String(IngressAdvertiseFlag),
		Balancers: c.StringSlice(IngressBalancerFlag)}
}

// entry is the center's own entry from outside. Its methods may be called of nil, where there is none.
type entry struct {
	*ingress.Controller
	listeners *lateListeners
}

// newEntry makes the entry, nil where none is configured.
func newEntry(s *Server, api ingress.API) (*entry, error) {
	if len(s.cfg.Ingress.Listen) == 0 {
		return nil, nil
	}
	l := &lateListeners{addresses: s.cfg.Ingress.Listen}
	if err := l.open(); err != nil {
		return nil, err
	}
	if s.lead != nil {
		l.close() // it is the leader's, which has the sessions of sites
	}
	s.closers = append(s.closers, func() error { l.close(); return nil })
	host := s.cfg.Ingress.Advertise
	if host == "" {
		u, err := url.Parse(s.url)
		if err != nil {
			return nil, err
		}
		host = u.Hostname()
	}
	balancers, err := outbound.Parse(s.cfg.Ingress.Balancers)
	if err != nil {
		return nil, fmt.Errorf("load balancers: %w", err)
	}
	figures := ingress.NewMetrics()
	s.metrics.Part("center").MustRegister(figures)
	named := delivery.NamedOf(s.delivery)
	return &entry{ingress.New(ingress.Config{
		API: api, Address: host, Connect: s.services.Answer, Moves: delivery.MovesOf(s.delivery),
		Reaches:   func(k store.Key, uid string) bool { _, reaches := named(k, uid); return reaches },
		Event:     func(e placement.Event) { s.summary.Event(e) },
		Balancers: balancers, Metrics: figures, Log: s.cfg.Log.With("part", "ingress"),
	}), l}, nil
}

// Run serves callers from outside until ctx ends.
func (e *entry) Run(ctx context.Context) error {
	if err := e.listeners.open(); err != nil {
		return err
	}
	return e.Serve(ctx, e.listeners.all)
}

// words says what of an Ingress that is about to be written is not served, and why.
func (e *entry) words(k store.Key, obj map[string]any) string {
	switch {
	case !placement.CenterServes(k, obj):
		return ""
	case e == nil:
		return fmt.Sprintf("Ingresses of the class %s are served by the center itself, and it serves none: its admin "+
			"opens it to callers by --%s", v1alpha1.IngressClass, IngressListenFlag)
	}
	return e.Words(k, obj)
}

// lateListeners are opened when the center is made, so that a wrong address is refused then, and again by a
// replica that has come to lead.
type lateListeners struct {
	addresses []string
	all       []net.Listener
}

func (l *lateListeners) open() error {
	for _, address := range l.addresses[len(l.all):] {
		var is net.Listener
		if err := patiently(syscall.EADDRINUSE, func() (err error) {
			is, err = net.Listen("tcp", address)
			return err
		}); err != nil {
			l.close()
			return fmt.Errorf("listen for callers from outside: %w; %s", err, otherwiseIngress(err))
		}
		l.all = append(l.all, is)
	}
	return nil
}

func (l *lateListeners) close() {
	for _, is := range slices.Backward(l.all) {
		is.Close()
	}
	l.all = nil
}

// otherwiseIngress says what to do where it is not possible to listen.
func otherwiseIngress(err error) string {
	switch {
	case errors.Is(err, syscall.EACCES):
		return "this user may not use that port: give the service CAP_NET_BIND_SERVICE, or choose one above 1023 with --" +
			IngressListenFlag
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "no interface of this machine has that address: write another with --" + IngressListenFlag
	}
	return "stop what uses the port, or choose another --" + IngressListenFlag
}
