package server

import (
	"context"
	"net/http"
	"strings"

	"skerry.dev/skerry/server/streams"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/exchange"
)

// newSites returns what reaches into the Pods of this center's targets.
func (s *Server) newSites() *streams.Streams {
	return streams.New(streams.Config{Targets: s.sessions, Leads: s.leads, Metered: s.sessions.Metered})
}

// OpenStream implements tunnel.StreamOpener: a relay passes on what its parent asks of Pods below
// it.
func (s *Server) OpenStream(ctx context.Context, target string) (tunnel.Stream, error) {
	return s.sessions.OpenStream(ctx, target)
}

// leads is nil, or says who else has the sessions of the sites while this replica stands by.
func (s *Server) leads() error {
	if s.lead == nil || s.lead.holds() {
		return nil
	}
	who := "the one that leads (Lease kube-system/" + leaseName + " of root)"
	if leader := s.lead.leader.Load(); leader != nil {
		who, _, _ = strings.Cut(
			*leader,
			" ",
		) // what follows the URL tells two lives of a replica apart
	}
	return &exchange.Fault{
		Code:    http.StatusServiceUnavailable,
		Reason:  "ServiceUnavailable",
		After:   10,
		Message: "this replica of the center stands by and has no sessions of sites: ask the leader, " + who,
	}
}
