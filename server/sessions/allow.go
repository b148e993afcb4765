package sessions

import (
	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
)

// narrowOf is what spec.allow of a SyncTarget takes away, nil for nothing.
func narrowOf(a *v1alpha1.SyncTargetAllow) *tunnel.Narrow {
	if a == nil {
		return nil
	}
	return &tunnel.Narrow{
		Namespaces: a.Namespaces, Kinds: a.Kinds, DenyKinds: a.DenyKinds, ServiceAccounts: a.ServiceAccounts,
		Controllers: a.Controllers, ClusterControllers: a.ClusterControllers, Webhooks: a.Webhooks,
		Upsync:              a.Upsync,
		LoadBalancerClasses: a.LoadBalancerClasses, PodSecurity: string(a.PodSecurity),
		TakeOver: a.TakeOver, ExternalIPs: a.ExternalIPs, VolumeNames: a.VolumeNames, Tokens: a.Tokens,
		ExternalBackends: a.ExternalBackends,
		Logs:             a.Logs, Exec: a.Exec, PortForward: a.PortForward, View: a.View,
		PodWrites: a.PodWrites, Services: a.Services,
	}
}

// permits takes over what the site said that it allows. Of a relay it is what a site below it opens
// to the controllers and webhooks of spaces, and which ways to it are closed here: about all else its
// own sites decide.
func permits(st *v1alpha1.SyncTarget, said *tunnel.ChildStatus) {
	a := said.Policy
	if a == nil {
		a = openedBelow(said.Subtree, st.Spec.Allow)
	}
	if a == nil {
		st.Status.Policy = nil
		return
	}
	st.Status.Policy = &v1alpha1.SyncTargetPolicy{
		Namespaces: a.Namespaces, Kinds: a.Kinds, DenyKinds: a.DenyKinds, ServiceAccounts: a.ServiceAccounts,
		Controllers: a.Controllers, ClusterControllers: a.ClusterControllers, Webhooks: a.Webhooks,
		Upsync:              a.Upsync,
		LoadBalancerClasses: a.LoadBalancerClasses, PodSecurity: a.PodSecurity,
		ExternalBackends: a.ExternalBackends, Hosts: a.Hosts, Definitions: a.Definitions,
		TakeOver: a.TakeOver, ExternalIPs: a.ExternalIPs, VolumeNames: a.VolumeNames, Tokens: a.Tokens,
		Logs: a.Logs, Exec: a.Exec, PortForward: a.PortForward, View: a.View,
		PodWrites: a.PodWrites, Services: a.Services,
	}
}

// openedBelow is what sites below a relay open, less what spec.allow of the relay takes away, and the
// ways that it closes; nil where that is nothing. Here alone it is taken away, because a relay hands
// on no such word.
func openedBelow(below *tunnel.SubtreeStatus, narrow *v1alpha1.SyncTargetAllow) *tunnel.Allow {
	if below == nil {
		return nil
	}
	if narrow == nil {
		narrow = &v1alpha1.SyncTargetAllow{}
	}
	left := &tunnel.Allow{
		Controllers:        leftOf(below.Opened.Controllers, narrow.Controllers),
		ClusterControllers: leftOf(below.Opened.ClusterControllers, narrow.ClusterControllers),
		Webhooks:           leftOf(below.Opened.Webhooks, narrow.Webhooks),
		Logs:               closed(narrow.Logs), Exec: closed(narrow.Exec), PortForward: closed(narrow.PortForward),
		View: closed(narrow.View), PodWrites: closed(narrow.PodWrites), Services: closed(narrow.Services),
	}
	if left.Equal(&tunnel.Allow{}) {
		return nil
	}
	return left
}

// leftOf is what is left of some spaces where only these may be; nil takes none away.
func leftOf(spaces, only []string) []string {
	if only != nil {
		spaces = tunnel.Intersect(spaces, only)
	}
	if len(spaces) == 0 {
		return nil
	}
	return spaces
}

// closed says of a way that it is closed for all spaces, nothing if it is not.
func closed(allowed *bool) []string {
	if allowed != nil && !*allowed {
		return []string{"false"}
	}
	return nil
}

// wishOf is what the admin wishes of the agent of a SyncTarget.
func wishOf(s *v1alpha1.SyncTargetSpec) tunnel.Wish { return tunnel.Wish{AgentVersion: s.AgentVersion} }
