package sessions

import (
	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
)

// offers takes over what the site said that its cluster offers. What it does not say stays as it
// was: the cluster may not have answered yet.
func offers(st *v1alpha1.SyncTarget, o *tunnel.ClusterOffer) {
	if o == nil {
		return
	}
	st.Status.Properties = o.Properties
	st.Status.APIs = &v1alpha1.ServedAPIs{Versions: o.Versions, Resources: o.Resources, Incomplete: o.Incomplete}
}
