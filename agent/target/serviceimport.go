package target

import (
	"context"
	"errors"
	"slices"
)

// LabelImported is the label by which a Service serves a ServiceImport of its name in its Namespace.
const LabelImported = "multicluster.kubernetes.io/service-name"

// importVersions are those of ServiceImport by which a cluster may know it, the newest first.
var importVersions = []string{"v1beta1", "v1alpha1"}

// ImportedPort is a port of a ServiceImport.
type ImportedPort struct {
	Name string
	Port uint16
}

// Import is the ServiceImport by which a cluster's DNS finds the addresses of the Service that serves it.
type Import struct {
	Namespace, Name string
	Service, UID    string
	Addresses       []string
	Ports           []ImportedPort
}

// Equal reports whether two imports are the same.
func (i *Import) Equal(o *Import) bool {
	return i.Name == o.Name && i.UID == o.UID && slices.Equal(i.Addresses, o.Addresses) && slices.Equal(i.Ports, o.Ports)
}

// KeepImport makes a ServiceImport as it is to be. It goes with its Service. It is false where the cluster does not
// know the kind. One of that name which somebody else has made is a *NotOursError.
func KeepImport(ctx context.Context, c *Client, i Import) (known bool, err error) {
	ports := []any{}
	for _, p := range i.Ports {
		ports = append(ports, map[string]any{"name": p.Name, "port": p.Port, "protocol": "TCP"})
	}
	for _, version := range importVersions {
		r := Resource{Group: "multicluster.x-k8s.io", Version: version, Plural: "serviceimports"}
		o := gatewayObject(r.Group+"/"+version, "ServiceImport", i.Namespace, i.Name, nil, "spec", map[string]any{
			"type": "ClusterSetIP", "ips": i.Addresses, "ports": ports})
		own(o, i.Service, i.UID)
		if _, err = c.keep(ctx, r, o); !errors.Is(err, ErrNotServed) {
			return true, err
		}
	}
	return false, nil
}
