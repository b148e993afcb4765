package services

import (
	"net/netip"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel/exchange"
)

// A Service that lets others than Pods of its space in on a cluster does so where its name leads elsewhere, too.

// outsiders are the callers that a Service has besides the Pods of its space.
type outsiders uint8

const (
	none outsiders = iota
	// ofSite are Pods of no space, and nodes: the controller of an Ingress or a route that sends callers to the Service
	// is one of them.
	ofSite
	// anybody comes by a node port or a load balancer, but for Pods of other spaces.
	anybody
)

// outsiders are those of a Service of the target.
func (is *spec) outsiders(o *target.Object) outsiders {
	switch {
	case is.Type == "NodePort" || is.Type == "LoadBalancer" || len(is.ExternalIPs) > 0:
		return anybody
	case o.Metadata.Annotations[target.AnnotationEntered] == "true":
		return ofSite
	}
	return none
}

// outsidersAt are those of a Service that is known here.
func outsidersAt(s *Services, of callee) outsiders {
	s.mu.Lock()
	o := s.known[of.at]
	s.mu.Unlock()
	return outsidersOf(o)
}

// outsidersOf are those of a Service, none where it is nil.
func outsidersOf(o *target.Object) outsiders {
	is, err := specOf(o)
	if o == nil || err != nil {
		return none
	}
	return is.outsiders(o)
}

// outsider reports whether a caller may call a Service without being a Pod of its space, as far as that is known here,
// and what other sites are told of it.
func outsider(s *Services, seen sight, at netip.Addr) (from string, is bool) {
	lets := outsidersOf(seen.service)
	switch {
	case lets == none, seen.pods && !seen.own:
		return "", false
	case seen.own:
		return seen.among.caller(), true
	}
	network := s.nodes.now()
	if network == nil || !network.has(at) && (lets != anybody || network.maybePod(at)) {
		return "", false
	}
	return exchange.Caller{Address: at}.Encode(), true
}
