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
		LoadBalancerClasses: a.LoadBalancerClasses, PodSecurity: string(a.PodSecurity),
		TakeOver: a.TakeOver, ExternalIPs: a.ExternalIPs, VolumeNames: a.VolumeNames, Tokens: a.Tokens,
		Logs: a.Logs, Exec: a.Exec, PortForward: a.PortForward, View: a.View,
		PodWrites: a.PodWrites,
	}
}

// permits takes over what the site said that it allows. A relay says nothing: its own sites decide.
func permits(st *v1alpha1.SyncTarget, a *tunnel.Allow) {
	if a == nil {
		st.Status.Policy = nil
		return
	}
	st.Status.Policy = &v1alpha1.SyncTargetPolicy{
		Namespaces: a.Namespaces, Kinds: a.Kinds, DenyKinds: a.DenyKinds, ServiceAccounts: a.ServiceAccounts,
		Controllers: a.Controllers, ClusterControllers: a.ClusterControllers, Webhooks: a.Webhooks,
		LoadBalancerClasses: a.LoadBalancerClasses, PodSecurity: a.PodSecurity,
		TakeOver: a.TakeOver, ExternalIPs: a.ExternalIPs, VolumeNames: a.VolumeNames, Tokens: a.Tokens,
		Logs: a.Logs, Exec: a.Exec, PortForward: a.PortForward, View: a.View,
		PodWrites: a.PodWrites,
	}
}
