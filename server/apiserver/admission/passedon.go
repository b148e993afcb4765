package admission

import (
	"context"

	"k8s.io/apiserver/pkg/admission"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	api "k8s.io/kubernetes/pkg/apis/core"
)

// passedOn reports whether a write of a mirrored Pod changes nothing here and is the site's to
// carry out: the deletion of one Pod by its name, its eviction, and the containers that debug it.
func passedOn(ctx context.Context, a admission.Attributes) bool {
	if a.GetResource().GroupResource() != api.Resource("pods") {
		return false
	}
	switch a.GetSubresource() {
	case "ephemeralcontainers", "eviction":
		return true
	case "":
		info, ok := apirequest.RequestInfoFrom(ctx)
		return ok && a.GetOperation() == admission.Delete && info.Verb == "delete"
	}
	return false
}
