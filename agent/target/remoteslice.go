package target

import (
	"context"
	"net/netip"
)

// RemoteSlices begin the names of the EndpointSlices by which Services lead to other sites.
const RemoteSlices = "skerry-"

// RemotePort is a port of the agent that stands for one of a Service.
type RemotePort struct {
	Name string
	Port uint16
}

// RemoteSlice is what an agent keeps beside the cluster's own EndpointSlices of a Service: one endpoint, the
// agent. While it is not ready nothing goes there.
type RemoteSlice struct {
	Namespace, Service, UID string
	At                      netip.Addr
	Ready                   bool
	Ports                   []RemotePort
}

// KeepRemoteSlice makes a slice as it is to be. It goes with its Service. A slice of that name which somebody
// else has made is a *NotOursError.
func (c *Client) KeepRemoteSlice(ctx context.Context, s RemoteSlice) error {
	o := gatewayObject("discovery.k8s.io/v1", "EndpointSlice", s.Namespace, RemoteSlices+s.Service, map[string]string{
		"kubernetes.io/service-name":             s.Service,
		"endpointslice.kubernetes.io/managed-by": "skerry",
	}, "addressType", FamilyOf(s.At))
	o["metadata"].(map[string]any)["ownerReferences"] = []any{map[string]any{
		"apiVersion": "v1", "kind": "Service", "name": s.Service, "uid": s.UID,
	}}
	o["endpoints"] = []any{map[string]any{
		"addresses": []any{s.At.String()}, "conditions": map[string]any{"ready": s.Ready},
	}}
	ports := []any{}
	for _, p := range s.Ports {
		ports = append(ports, map[string]any{"name": p.Name, "port": p.Port, "protocol": "TCP"})
	}
	o["ports"] = ports
	_, err := c.keep(ctx, endpointSlices, o)
	return err
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
