package admission

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/request"
)

// bornAtSites are the kinds whose objects may be born at a site, with the subresources of which the
// site carries out writes. Package pods serves them.
var bornAtSites = map[schema.GroupResource][]string{
	{Resource: "pods"}:                       {"", "status", "ephemeralcontainers", "eviction"},
	{Resource: "persistentvolumeclaims"}:     {""},
	{Group: "batch", Resource: "jobs"}:       {""},
	{Group: "apps", Resource: "replicasets"}: {""},

	{Group: "resource.k8s.io", Resource: "resourceclaims"}: {""},
}

// passedOn reports whether a write is of an object that was born at a site, changes nothing here
// and is the site's to carry out: its deletion, and changes of its metadata.
func passedOn(ctx context.Context, a admission.Attributes) bool {
	if request.FromCenter(ctx) || a.GetOldObject() == nil {
		return false
	}
	_, mirrored := metadata.Annotation(metadata.Of(a.GetOldObject()), v1alpha1.AnnotationReportedFrom)
	if !mirrored || a.GetOperation() != admission.Delete && a.GetOperation() != admission.Update {
		return false
	}
	for _, subresource := range bornAtSites[a.GetResource().GroupResource()] {
		if subresource == a.GetSubresource() {
			return true
		}
	}
	return false
}
