package tunnel

import (
	"reflect"
	"slices"

	"skerry.dev/skerry/tunnel/wire"
)

// Allow is what spaces may do on a site's cluster beyond the default of package agent/policy. The
// zero value is the default. Both the site's own configuration and its result with Narrow are an
// Allow.
type Allow struct {
	// Namespaces opens namespaces that exist on the cluster: NAMESPACE, or SPACE/NAMESPACE for one
	// space. '*' stands for any part of a name.
	Namespaces []string `json:"namespaces,omitempty"`
	// Kinds opens further kinds, RESOURCE or RESOURCE.GROUP: priorityclasses.scheduling.k8s.io,
	// *.cattle.io, *.
	Kinds []string `json:"kinds,omitempty"`
	// DenyKinds are kinds that are refused, of the default ones, too.
	DenyKinds []string `json:"denyKinds,omitempty"`
	// ServiceAccounts of the cluster that workloads may name: NAMESPACE/NAME.
	ServiceAccounts []string `json:"serviceAccounts,omitempty"`
	// PodSecurity are the Pod Security levels: LEVEL for all spaces, SPACE=LEVEL for one.
	PodSecurity []string `json:"podSecurity,omitempty"`
	// LoadBalancerClasses that Services may name.
	LoadBalancerClasses []string `json:"loadBalancerClasses,omitempty"`
	// Controllers are the spaces whose Roles and RoleBindings travel, so that their Pods can use the
	// cluster's API in their own namespaces. ClusterControllers are those whose ClusterRoles and
	// ClusterRoleBindings do, as far as the cluster gives the space's account the same rights. '*'
	// stands for any part of a name.
	Controllers        []string `json:"controllers,omitempty"`
	ClusterControllers []string `json:"clusterControllers,omitempty"`
	// Webhooks are the spaces whose webhooks for Pods, and for what else is born at the site, the
	// cluster's API server calls in the space's own namespaces. '*' stands for any part of a name.
	Webhooks []string `json:"webhooks,omitempty"`
	// Upsync are the spaces that may bring objects which were born at the site, Secrets too, from
	// namespaces made for them into the space. '*' stands for any part of a name.
	Upsync []string `json:"upsync,omitempty"`
	// Hosts, SPACE=HOST, and Definitions, SPACE=GROUP, keep hosts of Ingresses, Gateways and routes,
	// and API groups of definitions, for the spaces that are named with them. What no rule has is for
	// who comes first. '*' stands for any part.
	Hosts       []string `json:"hosts,omitempty"`
	Definitions []string `json:"definitions,omitempty"`
	// ExternalBackends lets Ingresses and routes lead to Services of type ExternalName.
	ExternalBackends bool `json:"externalBackends,omitempty"`
	// TakeOver lets objects that exist be taken over, Secrets excepted.
	TakeOver bool `json:"takeOver,omitempty"`
	// ExternalIPs lets Services have externalIPs and a loadBalancerIP.
	ExternalIPs bool `json:"externalIPs,omitempty"`
	// VolumeNames lets claims choose volumes of the site: by name, by selector, or those without a
	// class. Volumes of Pods may name storage then, past claims.
	VolumeNames bool `json:"volumeNames,omitempty"`
	// Tokens lets Pods mount tokens for the cluster's own API by a projected volume, and Secrets
	// hold them.
	Tokens bool `json:"tokens,omitempty"`
	// Logs, Exec and PortForward let a space reach into its own Pods from the center. Exec is attach
	// and debugging, too. View lets it read what is in its own namespaces. PodWrites lets
	// it delete, evict and label its Pods, and what else was born with them. Services lets its Services
	// answer other sites. Each is a list: true or
	// false for all spaces, SPACE=true or SPACE=false for one. What is not said is true.
	Logs        []string `json:"logs,omitempty"`
	Exec        []string `json:"exec,omitempty"`
	PortForward []string `json:"portForward,omitempty"`
	View        []string `json:"view,omitempty"`
	PodWrites   []string `json:"podWrites,omitempty"`
	Services    []string `json:"services,omitempty"`
}

// Equal reports whether a and other allow the same.
func (a *Allow) Equal(other *Allow) bool { return reflect.DeepEqual(a, other) }

// Narrow is what a parent takes away from what a site allows. Nil takes nothing away. It never
// gives more than the site does.
type Narrow struct {
	// Namespaces, Kinds, ServiceAccounts and LoadBalancerClasses, when not nil, are the only ones
	// that remain. Kinds also applies to the default kinds.
	Namespaces          []string `json:"namespaces"`
	Kinds               []string `json:"kinds"`
	ServiceAccounts     []string `json:"serviceAccounts"`
	LoadBalancerClasses []string `json:"loadBalancerClasses"`
	// Controllers, ClusterControllers, Webhooks and Upsync, when not nil, are the only spaces that
	// remain.
	Controllers        []string `json:"controllers"`
	ClusterControllers []string `json:"clusterControllers"`
	Webhooks           []string `json:"webhooks"`
	Upsync             []string `json:"upsync"`
	// DenyKinds are refused in any case.
	DenyKinds []string `json:"denyKinds,omitempty"`
	// PodSecurity is the weakest level that remains; empty is the site's.
	PodSecurity string `json:"podSecurity,omitempty"`
	// TakeOver, ExternalIPs, ExternalBackends, VolumeNames and Tokens are taken away if they are
	// false.
	TakeOver         *bool `json:"takeOver,omitempty"`
	ExternalIPs      *bool `json:"externalIPs,omitempty"`
	ExternalBackends *bool `json:"externalBackends,omitempty"`

	VolumeNames *bool `json:"volumeNames,omitempty"`
	Tokens      *bool `json:"tokens,omitempty"`
	Logs        *bool `json:"logs,omitempty"`
	Exec        *bool `json:"exec,omitempty"`
	PortForward *bool `json:"portForward,omitempty"`
	View        *bool `json:"view,omitempty"`
	PodWrites   *bool `json:"podWrites,omitempty"`
	Services    *bool `json:"services,omitempty"`
}

func (*Narrow) frame() wire.Type { return typeNarrow }

// Equal reports whether n and other take away the same.
func (n *Narrow) Equal(other *Narrow) bool { return reflect.DeepEqual(n, other) }

// What a parent takes of what a child says that it allows.
const (
	maxAllowed     = 64
	maxAllowedText = 253
)

// bounded returns what a parent accepts of a.
func (a *Allow) bounded() *Allow {
	if a == nil {
		return nil
	}
	out := *a
	boundLists(
		&out.Namespaces, &out.Kinds, &out.DenyKinds, &out.ServiceAccounts, &out.PodSecurity, &out.LoadBalancerClasses,
		&out.Logs, &out.Exec, &out.PortForward, &out.View, &out.PodWrites, &out.Controllers, &out.ClusterControllers,
		&out.Webhooks, &out.Upsync, &out.Hosts, &out.Definitions, &out.Services,
	)
	return &out
}

// boundLists shortens lists to what a parent accepts. Their arrays stay as they are.
func boundLists(lists ...*[]string) {
	for _, list := range lists {
		kept := slices.Clone(*list)
		kept = slices.DeleteFunc(kept, func(s string) bool { return len(s) > maxAllowedText })
		*list = kept[:min(len(kept), maxAllowed)]
	}
}
