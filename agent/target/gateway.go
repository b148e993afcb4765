package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/store"
)

// LabelGateway stands on what the agent itself keeps at the target for the gateway of pods.
const LabelGateway = "skerry.dev/gateway"

// GatewayService is the name of the Service by which pods reach the gateway. It is in the namespace
// of the accounts of spaces.
const GatewayService = "skerry-gateway"

// GatewayPort is the port of that Service.
const GatewayPort = 443

var (
	services       = Resource{Version: "v1", Plural: "services"}
	configMaps     = Resource{Version: "v1", Plural: "configmaps"}
	secrets        = Resource{Version: "v1", Plural: "secrets"}
	nodes          = Resource{Version: "v1", Plural: "nodes"}
	endpointSlices = Resource{Group: "discovery.k8s.io", Version: "v1", Plural: "endpointslices"}
)

// NotOursError says that an object which the gateway needs has a name that somebody else uses.
type NotOursError struct{ Resource, Namespace, Name string }

// Error says what to do.
func (n *NotOursError) Error() string {
	return fmt.Sprintf("%s %s/%s at the site is not the agent's, which needs that name: remove it there",
		n.Resource, n.Namespace, n.Name)
}

// LocalAddress is the address of this machine by which it reaches the target. It sends nothing.
func (c *Client) LocalAddress(ctx context.Context) (netip.Addr, error) {
	port := c.base.Port()
	if port == "" {
		port = "443"
	}
	return LocalAddressTo(ctx, net.JoinHostPort(c.base.Hostname(), port))
}

// LocalAddressTo is the address of this machine by which it reaches another. It sends nothing.
func LocalAddressTo(ctx context.Context, hostPort string) (netip.Addr, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", hostPort)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("find the way to %s: %w", hostPort, err)
	}
	defer conn.Close()
	at, err := netip.ParseAddrPort(conn.LocalAddr().String())
	if err != nil {
		return netip.Addr{}, fmt.Errorf("find the way to %s: %w", hostPort, err)
	}
	return at.Addr().Unmap(), nil
}

// NodeAddresses are the internal addresses of the target's nodes.
func (c *Client) NodeAddresses(ctx context.Context) (out []netip.Addr, err error) {
	_, err = c.List(ctx, Listing{Resource: nodes}, func(o *Object) error {
		var status struct {
			Addresses []struct{ Type, Address string }
		}
		if json.Unmarshal(o.Status, &status) != nil {
			return nil
		}
		for _, a := range status.Addresses {
			if addr, err := netip.ParseAddr(a.Address); err == nil && a.Type == "InternalIP" {
				out = append(out, addr.Unmap())
			}
		}
		return nil
	})
	return out, err
}

// EnsureGateway makes the Service by which pods reach the gateway at an address, and returns the
// address that the Service has. Former is the one that it had, which it gets again where it is made
// anew; it may be empty.
func (c *Client) EnsureGateway(
	ctx context.Context,
	at netip.AddrPort,
	former string,
	o SpacesOwner,
) (clusterIP string, err error) {
	if err := c.make(ctx, namespaces, "", o.namespace(c.spaces)); err != nil {
		return "", fmt.Errorf("make the namespace of the gateway: %w", err)
	}
	if _, err := c.HoldSpaces(ctx, o); err != nil {
		return "", err
	}
	family := FamilyOf(at.Addr())
	spec := map[string]any{
		"type": "ClusterIP", "ipFamilyPolicy": "SingleStack", "ipFamilies": []any{family},
		"ports": []any{map[string]any{"name": "https", "port": GatewayPort, "targetPort": at.Port(), "protocol": "TCP"}},
	}
	service := c.gatewayObject("v1", "Service", GatewayService, nil, "spec", spec)
	if former != "" {
		spec["clusterIP"] = former
	}
	live, err := c.keep(ctx, services, service)
	if former != "" && apierrors.IsInvalid(err) {
		delete(spec, "clusterIP")
		live, err = c.keep(ctx, services, service)
	}
	if err != nil {
		return "", fmt.Errorf("make the Service of the gateway: %w", err)
	}
	slice := agentSlice(c.spaces, GatewayService, GatewayService, at.Addr())
	slice["endpoints"] = readyAt(at.Addr(), true)
	slice["ports"] = remotePorts([]RemotePort{{"https", at.Port()}})
	if _, err := c.keep(ctx, endpointSlices, slice); err != nil {
		return "", fmt.Errorf("make the EndpointSlice of the gateway: %w", err)
	}
	return clusterIPOf(live)
}

// clusterIPOf is the address of a Service, an error where it has none.
func clusterIPOf(live *Object) (string, error) {
	var has struct{ ClusterIP string }
	if err := json.Unmarshal(live.Spec, &has); err != nil || has.ClusterIP == "" {
		return "", errors.Join(fmt.Errorf("service %s/%s has no address yet", live.Metadata.Namespace, live.Metadata.Name),
			err)
	}
	return has.ClusterIP, nil
}

// DropGateway removes the Service of the gateway, which no pod needs any more.
func (c *Client) DropGateway(ctx context.Context) error {
	return errors.Join(c.drop(ctx, endpointSlices, c.spaces, GatewayService), c.drop(ctx, services, c.spaces,
		GatewayService))
}

// gatewayObject is an object of the gateway in the namespace of the accounts.
func (c *Client) gatewayObject(
	apiVersion, kind, name string,
	labels map[string]string,
	field string,
	value any,
) map[string]any {
	return gatewayObject(apiVersion, kind, c.spaces, name, labels, field, value)
}

func gatewayObject(
	apiVersion, kind, namespace, name string,
	labels map[string]string,
	field string,
	value any,
) map[string]any {
	all := map[string]any{LabelGateway: "true"}
	for k, v := range labels {
		all[k] = v
	}
	return map[string]any{"apiVersion": apiVersion, "kind": kind, field: value,
		"metadata": map[string]any{"name": name, "namespace": namespace, "labels": all}}
}

// keep makes an object of the gateway as it is to be. An object of that name which is not the
// gateway's is a *NotOursError.
func (c *Client) keep(ctx context.Context, r Resource, o map[string]any) (*Object, error) {
	meta, _ := o["metadata"].(map[string]any)
	namespace, _ := meta["namespace"].(string)
	name, _ := meta["name"].(string)
	body, err := encode(o)
	if err != nil {
		return nil, err
	}
	live, _, err := c.Apply(ctx, r, namespace, name, body, Applying{Unmarked: true})
	if !apierrors.IsConflict(err) {
		return live, err
	}
	if live, err = c.Get(ctx, r, namespace, name, false); err != nil {
		return nil, err
	}
	if !IsGatewayObject(live) {
		return nil, &NotOursError{r.Plural, namespace, name}
	}
	live, _, err = c.Apply(ctx, r, namespace, name, body, Applying{UID: live.Metadata.UID, Unmarked: true})
	return live, err
}

// IsGatewayObject reports whether an object is one that an agent keeps for the gateway: none that
// came from a space.
func IsGatewayObject(o *Object) bool {
	return o.Metadata.Labels[LabelGateway] == "true" && o.OriginSpace() == ""
}

// KeepAPIAddress says in a namespace where the API of its space is found. What says so already is
// not written.
func (c *Client) KeepAPIAddress(ctx context.Context, namespace, host string, port int) error {
	data := map[string]any{store.PodAPIHost: host, store.PodAPIPort: fmt.Sprint(port)}
	live, whole, err := c.Read(ctx, configMaps, namespace, store.PodAPIConfigMap)
	if err == nil && IsGatewayObject(live) && reflect.DeepEqual(whole["data"], data) {
		return nil
	}
	_, err = c.keep(ctx, configMaps,
		gatewayObject("v1", "ConfigMap", namespace, store.PodAPIConfigMap, nil, "data", data))
	return err
}

// Credentials are those of a ServiceAccount of a space in a namespace at the target.
type Credentials struct {
	// Namespace is the name that the target has for it. The others are the space's words.
	Namespace                      string
	Space, SpaceNamespace, Account string
	// Token is for the API of the space; CA signs what proves that to the pods.
	Token string
	CA    []byte
	// Says is the name of the namespace that the pods read. It is read only.
	Says string
}

const (
	annotationSpace     = "skerry.dev/gateway-space"
	annotationNamespace = "skerry.dev/gateway-namespace"
	annotationAccount   = "skerry.dev/gateway-account"
)

// KeepCredentials keeps the Secret of a ServiceAccount.
func (c *Client) KeepCredentials(ctx context.Context, k Credentials) error {
	o := gatewayObject("v1", "Secret", k.Namespace, store.PodAPISecret(k.Account), nil, "data", map[string]any{
		store.PodAPIToken: []byte(k.Token), store.PodAPICA: k.CA, store.PodAPINamespace: []byte(k.SpaceNamespace),
	})
	o["metadata"].(map[string]any)["annotations"] = map[string]any{
		annotationSpace: k.Space, annotationNamespace: k.SpaceNamespace, annotationAccount: k.Account,
	}
	_, err := c.keep(ctx, secrets, o)
	return err
}

// ReadCredentials reads the Secret of a ServiceAccount in a namespace at the target. It returns nil
// where there is none.
func (c *Client) ReadCredentials(ctx context.Context, namespace, account string) (*Credentials, error) {
	var o struct {
		Object
		Data map[string][]byte `json:"data"`
	}
	_, err := c.call(ctx, "GET", secrets.Path(namespace, store.PodAPISecret(account)), nil, "", nil, &o)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	k := credentialsOf(&o.Object)
	if k == nil {
		return nil, &NotOursError{secrets.Plural, namespace, o.Metadata.Name}
	}
	k.Token, k.CA = string(o.Data[store.PodAPIToken]), o.Data[store.PodAPICA]
	k.Says = string(o.Data[store.PodAPINamespace])
	return k, nil
}

func credentialsOf(o *Object) *Credentials {
	if !IsGatewayObject(o) {
		return nil
	}
	notes := o.Metadata.Annotations
	return &Credentials{Namespace: o.Metadata.Namespace, Space: notes[annotationSpace],
		SpaceNamespace: notes[annotationNamespace], Account: notes[annotationAccount]}
}

// ListCredentials lists the Secrets of ServiceAccounts, without what is in them.
func (c *Client) ListCredentials(ctx context.Context) (out []Credentials, err error) {
	l := Listing{Resource: secrets, LabelSelector: LabelGateway + "=true", MetadataOnly: true}
	_, err = c.List(ctx, l, func(o *Object) error {
		if k := credentialsOf(o); k != nil && k.Account != "" && o.Metadata.Name == store.PodAPISecret(k.Account) {
			out = append(out, *k)
		}
		return nil
	})
	return out, err
}

// DropCredentials removes the Secret of a ServiceAccount, and with address what says where the API
// is.
func (c *Client) DropCredentials(ctx context.Context, namespace, account string, address bool) error {
	err := c.drop(ctx, secrets, namespace, store.PodAPISecret(account))
	if err == nil && address {
		err = c.drop(ctx, configMaps, namespace, store.PodAPIConfigMap)
	}
	return err
}

func (c *Client) drop(ctx context.Context, r Resource, namespace, name string) error {
	live, err := c.Get(ctx, r, namespace, name, false)
	if err == nil && IsGatewayObject(live) {
		_, err = c.Delete(ctx, r, namespace, name, Deletion{UID: live.Metadata.UID})
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
