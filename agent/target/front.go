package target

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
)

// LabelFront stands on a Service of the agent that stands for Pods of a headless Service: the UID of that.
const LabelFront = "skerry.dev/front"

// AnnotationFront says for people for what such a Service stands.
const AnnotationFront = "skerry.dev/front-of"

// Front is a Service of the agent. Its address stands for a Pod that a headless Service has at another site, or for any
// of these. It is in the namespace of the accounts of spaces, so it is in nobody's way, and needs no right elsewhere.
type Front struct {
	// Namespace, Service and UID are those of the headless Service at the target.
	Namespace, Service, UID string
	// Host is the host name of the Pod, empty for any.
	Host string
	At   netip.Addr
	// Ports are those of the agent, in the order of Called: the ports that callers know.
	Ports  []RemotePort
	Called []uint16
}

// FrontName is the name of the front for a host of a headless Service with a UID.
func FrontName(uid, host string) string {
	sum := sha256.Sum256([]byte(uid + "/" + host))
	return "front-" + hex.EncodeToString(sum[:16])
}

// Fronts are those of a target.
type Fronts struct{ Client *Client }

// Keep makes a front as it is to be, and returns its address.
func (all Fronts) Keep(ctx context.Context, f Front) (address string, err error) {
	c := all.Client
	name := FrontName(f.UID, f.Host)
	ports := []any{}
	for i, p := range f.Ports {
		ports = append(ports, map[string]any{"name": p.Name, "port": f.Called[i], "targetPort": p.Port, "protocol": "TCP"})
	}
	service := c.gatewayObject("v1", "Service", name, map[string]string{LabelFront: f.UID}, "spec", map[string]any{
		"type": "ClusterIP", "ipFamilyPolicy": "SingleStack", "ipFamilies": []any{FamilyOf(f.At)}, "ports": ports,
	})
	of := f.Namespace + "/" + f.Service
	if f.Host != "" {
		of += "/" + f.Host
	}
	service["metadata"].(map[string]any)["annotations"] = map[string]any{AnnotationFront: of}
	live, err := c.keep(ctx, services, service)
	if err != nil {
		return "", fmt.Errorf("make a Service that stands for %s: %w", of, err)
	}
	slice := ownedSlice(c.spaces, name, name, live.Metadata.UID, f.At)
	slice["endpoints"], slice["ports"] = readyAt(f.At, true), remotePorts(f.Ports)
	if _, err := c.keep(ctx, endpointSlices, slice); err != nil {
		return "", fmt.Errorf("make the EndpointSlice of what stands for %s: %w", of, err)
	}
	return clusterIPOf(live)
}

// Only removes the fronts of the target that are not among those with these names.
func (all Fronts) Only(ctx context.Context, names map[string]bool) error {
	c := all.Client
	var gone []string
	l := Listing{Resource: services, Namespace: c.spaces, LabelSelector: LabelFront, MetadataOnly: true}
	_, err := c.List(ctx, l, func(o *Object) error {
		if !names[o.Metadata.Name] && IsGatewayObject(o) {
			gone = append(gone, o.Metadata.Name)
		}
		return nil
	})
	for _, name := range gone {
		err = errors.Join(err, c.drop(ctx, endpointSlices, c.spaces, name), c.drop(ctx, services, c.spaces, name))
	}
	return err
}
