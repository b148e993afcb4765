package server

import (
	"context"
	"net/http"

	"skerry.dev/skerry/server/delivery"
	"skerry.dev/skerry/server/replicas"
	"skerry.dev/skerry/server/services"
	"skerry.dev/skerry/server/streams"
	"skerry.dev/skerry/tunnel/exchange"
)

// newSites returns what reaches into this center's targets.
func (s *Server) newSites() *streams.Streams {
	ways := delivery.WaysOf(s.delivery)
	c := streams.Config{
		Targets: s.sessions, Leads: s.leads, SpaceUID: s.delivery.SpaceUID, Closes: ways.Closes, Metered: ways.Metered,
	}
	if s.lead == nil {
		return streams.New(c)
	}
	c.Pass = func(ctx context.Context, target string, r *exchange.Request) (*http.Response, error) {
		return s.replicas.Do(ctx, target, r)
	}
	sites := streams.New(c)
	s.replicas = replicas.New(replicas.Config{
		Listener: s.port.Replicas(), TLS: s.identity.Client, Leader: s.lead.address, Here: sites.Here,
		Log: s.cfg.Log.With("part", "replicas"),
	})
	return sites
}

// newServices returns what joins connections to Services of spaces.
func (s *Server) newServices() *services.Services {
	return services.New(services.Config{
		Serving: s.delivery.Serving, Closed: delivery.ClosedOf(s.delivery), Named: delivery.NamedOf(s.delivery),
		Callable: delivery.CallableOf(s.delivery), Moves: delivery.MovesOf(s.delivery),
		Affinity: delivery.AffinityOf(s.delivery), Sites: s.sites, Imports: s.sets.imports, RTT: s.sessions.RTT,
		Parent: s.cfg.Parent, Log: s.cfg.Log.With("part", "services"),
	})
}

// Children are the targets of this center, as its agent asks them for what its parent wants of what is below a
// relay.
type Children struct {
	*streams.Streams
	services *services.Services
}

// Children returns the targets of this center.
func (s *Server) Children() Children { return Children{s.sites, s.services} }

// Call connects to a Service at one of the targets.
func (c Children) Call(ctx context.Context, r *exchange.Request) (*http.Response, error) {
	return c.services.Answer(ctx, r)
}

// Trace has a target, or one below it, call a Service.
func (c Children) Trace(ctx context.Context, r *exchange.Request) (*http.Response, error) {
	return c.services.Call(ctx, r)
}

// leads is nil, or says who else has the sessions of the sites while this replica stands by.
func (s *Server) leads() error {
	if s.lead == nil || s.lead.holds() {
		return nil
	}
	who := "the one that leads (Lease kube-system/" + leaseName + " of root)"
	if url := s.lead.url(); url != "" {
		who = url
	}
	return &exchange.Fault{
		Code:   http.StatusServiceUnavailable,
		Reason: "ServiceUnavailable",
		After:  10,
		Message: "this replica of the center stands by and has no sessions of sites: " +
			"ask the leader, " + who,
	}
}
