package webhook

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"skerry.dev/skerry/tunnel/exchange"
)

// Service is what a webhook's configuration names, in the space that the configuration is of.
type Service struct {
	Space, Namespace, Name string
	Port                   int32 // of the Service, not of its Pods
}

// host is the host of the webhook's URL, and what its certificate has to be for.
func (s Service) host() string {
	return net.JoinHostPort(s.Name+"."+s.Namespace+".svc", strconv.Itoa(int(s.Port)))
}

// String is "service SPACE/NAMESPACE/NAME".
func (s Service) String() string {
	return "service " + s.Space + "/" + s.Namespace + "/" + s.Name
}

// Backend is a ready Pod behind a Service.
type Backend struct {
	// Place is where the Pod runs, and how it is known there.
	Place exchange.Place
	// Pod is its name in the space, Port the port of the Pod.
	Pod  string
	Port int32
}

// Services finds the Pods behind Services.
type Services interface {
	// Behind returns the ready Pods behind a Service, one at least. Its error is a *NoBackend.
	Behind(ctx context.Context, s Service) ([]Backend, error)
}

// NoBackend is the error for a Service that has nothing to call.
type NoBackend struct {
	Name string // of the Service
	Why  string
	// Away says that the sites of the Service cannot be reached, or that it has none any more.
	Away bool
}

// Error implements error. It begins as on a cluster.
func (e *NoBackend) Error() string {
	return fmt.Sprintf("no endpoints available for service %q: %s", e.Name, e.Why)
}
