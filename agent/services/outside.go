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
	is, err := specOf(o)
	if o == nil || err != nil {
		return none
	}
	return is.outsiders(o)
}

// outsider reports whether a caller may call a Service without being a Pod of its space, as far as that is known here,
// and what other sites are told of it.
func outsider(s *Services, of callee, at netip.Addr) (from string, is bool) {
	lets := outsidersAt(s, of)
	if lets == none {
		return "", false
	}
	if among, pods := amongOwn(s, at.String()); pods {
		return among.caller(), len(among.staying)+len(among.leaving) > 0
	}
	network := s.nodes.now()
	if network == nil || !network.has(at) && (lets != anybody || network.maybePod(at)) {
		return "", false
	}
	return exchange.Caller{Address: at}.Encode(), true
}

// amongOwn are the Pods that have an address, none where one of them is not known to be the site's own: of no space. It
// is false where no Pod has it.
func amongOwn(s *Services, at string) (all candidates, pods bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.pods[at] {
		from, known := s.homes[p.namespace]
		if !known || !from.own {
			return candidates{}, true
		}
		all.add(from, s.residents[p])
	}
	return all, len(s.pods[at]) > 0
}
