package target

import (
	"context"
	"net/netip"
	"slices"
)

// RemoteSlices begin the names of the EndpointSlices by which Services lead to other sites.
const RemoteSlices = "skerry-"

// RemotePort is a port of the agent that stands for one of a Service.
type RemotePort struct {
	Name string
	Port uint16
}

// RemoteHost is an address that stands for a Pod of a headless Service with a host name, or for any Pod of it.
type RemoteHost struct {
	Host    string
	Address string
}

// RemoteSlice is what an agent keeps beside the cluster's own EndpointSlices of a Service: one endpoint, the agent.
// While it is not ready nothing goes there.
type RemoteSlice struct {
	Namespace, Service, UID string
	At                      netip.Addr
	Ready                   bool
	// Node is the node that the agent is at, empty where that does not matter.
	Node  string
	Ports []RemotePort
	// Hosts stand in the agent's place where the Service is headless. While it is not ready there are none: whoever asks
	// for its Pods may ask for those that are not ready, too.
	Hosts []RemoteHost
}

// endpoints are those of the slice.
func (s *RemoteSlice) endpoints() []any {
	if s.Hosts == nil {
		all := readyAt(s.At, s.Ready)
		if s.Node != "" {
			all[0].(map[string]any)["nodeName"] = s.Node
		}
		return all
	}
	all := []any{}
	for _, h := range s.Hosts {
		e := map[string]any{"addresses": []any{h.Address}, "conditions": map[string]any{"ready": true}}
		if h.Host != "" {
			e["hostname"] = h.Host
		}
		if s.Ready {
			all = append(all, e)
		}
	}
	return all
}

// Equal reports whether two slices are the same.
func (s *RemoteSlice) Equal(o *RemoteSlice) bool {
	return s.Ready == o.Ready && s.At == o.At && s.Node == o.Node && slices.Equal(s.Ports, o.Ports) &&
		slices.Equal(s.Hosts, o.Hosts)
}

// KeepRemoteSlice makes a slice as it is to be. It goes with its Service. A slice of that name which somebody
// else has made is a *NotOursError.
func (c *Client) KeepRemoteSlice(ctx context.Context, s RemoteSlice) error {
	o := ownedSlice(s.Namespace, RemoteSlices+s.Service, s.Service, s.UID, s.At)
	o["endpoints"], o["ports"] = s.endpoints(), remotePorts(s.Ports)
	_, err := c.keep(ctx, endpointSlices, o)
	return err
}

// agentSlice is a slice of a Service that an agent keeps, without endpoints and ports.
func agentSlice(namespace, name, service string, at netip.Addr) map[string]any {
	return gatewayObject("discovery.k8s.io/v1", "EndpointSlice", namespace, name, map[string]string{
		"kubernetes.io/service-name":             service,
		"endpointslice.kubernetes.io/managed-by": "skerry",
	}, "addressType", FamilyOf(at))
}

// ownedSlice is an agentSlice that goes with its Service, which has a UID.
func ownedSlice(namespace, name, service, uid string, at netip.Addr) map[string]any {
	o := agentSlice(namespace, name, service, at)
	own(o, service, uid)
	return o
}

// own has an object go with a Service, which has a UID.
func own(o map[string]any, service, uid string) {
	o["metadata"].(map[string]any)["ownerReferences"] = []any{map[string]any{
		"apiVersion": "v1", "kind": "Service", "name": service, "uid": uid,
	}}
}

// readyAt is one endpoint, which is ready or not.
func readyAt(at netip.Addr, ready bool) []any {
	return []any{map[string]any{
		"addresses": []any{at.String()}, "conditions": map[string]any{"ready": ready},
	}}
}

func remotePorts(all []RemotePort) []any {
	ports := []any{}
	for _, p := range all {
		ports = append(ports, map[string]any{"name": p.Name, "port": p.Port, "protocol": "TCP"})
	}
	return ports
}

// RemoteSlicesOf lists what an agent keeps of slices, those of Services and its own.
func RemoteSlicesOf() Listing {
	return Listing{Resource: endpointSlices, LabelSelector: LabelGateway + "=true"}
}

// IsRemoteSlice reports whether an object is the agent's slice of a Service.
func IsRemoteSlice(o *Object, service string) bool {
	return IsGatewayObject(o) && service != "" && o.Metadata.Name == RemoteSlices+service
}

// DropRemoteSlice removes the slice of a Service, if it is the agent's.
func (c *Client) DropRemoteSlice(ctx context.Context, namespace, service string) error {
	return c.drop(ctx, endpointSlices, namespace, RemoteSlices+service)
}

// FamilyOf is the family of an address, as Kubernetes names it.
func FamilyOf(at netip.Addr) string {
	if at.Is6() {
		return "IPv6"
	}
	return "IPv4"
}
