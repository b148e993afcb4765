package admin

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/customize"
)

// exportKind is a kind of a space that is exported.
type exportKind struct {
	schema.GroupVersionResource
	kind       string
	namespaced bool
	status     bool // has a status subresource
}

// leftOut are kinds that say what is, or was, and not what is wanted.
var leftOut = map[schema.GroupResource]bool{
	{Resource: "events"}: true, {Group: "events.k8s.io", Resource: "events"}: true,
	{Group: "coordination.k8s.io", Resource: "leases"}:                  true,
	{Group: v1alpha1.FleetGroup, Resource: v1alpha1.PlacementDecisions}: true,
	{Group: v1alpha1.GroupVersion.Group, Resource: "combinedstatuses"}:  true,
	{Group: v1alpha1.GroupVersion.Group, Resource: "upsyncs"}:           true,
	{Group: v1alpha1.GroupVersion.Group, Resource: "bindings"}:          true,
}

// stages are what has to be there before other kinds; what is not named comes between the first and
// the last ones. What decides where objects go comes before them, so that they do not move; what
// refuses or limits comes last.
var stages = map[schema.GroupResource]int{
	{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}: -90,
	{Resource: "namespaces"}:                                                               -80,
	{Group: v1alpha1.GroupVersion.Group, Resource: "placements"}:                           -70,
	{Group: v1alpha1.GroupVersion.Group, Resource: "customizers"}:                          -70,
	{Group: "storage.k8s.io", Resource: "storageclasses"}:                                  -60,
	{Group: "scheduling.k8s.io", Resource: "priorityclasses"}:                              -60,
	{Resource: "serviceaccounts"}:                                                          -50,
	{Resource: "secrets"}:                                                                  -40,
	{Resource: "configmaps"}:                                                               -40,
	{Resource: "persistentvolumeclaims"}:                                                   -30,
	{Resource: "services"}:                                                                 -20,
	{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"}:                         -12,
	{Group: "rbac.authorization.k8s.io", Resource: "roles"}:                                -11,
	{Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"}:                  -10,
	{Group: "rbac.authorization.k8s.io", Resource: "rolebindings"}:                         -10,
	{Group: "apps", Resource: "deployments"}:                                               10,
	{Group: "apps", Resource: "statefulsets"}:                                              10,
	{Group: "apps", Resource: "daemonsets"}:                                                10,
	{Group: "apps", Resource: "replicasets"}:                                               20,
	{Group: "batch", Resource: "cronjobs"}:                                                 10,
	{Group: "batch", Resource: "jobs"}:                                                     20,
	{Resource: "pods"}:                                                                     30,
	{Resource: "limitranges"}:                                                              80,
	{Resource: "resourcequotas"}:                                                           80,
	{Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicies"}:       90,
	{Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicybindings"}: 91,
	{Group: "admissionregistration.k8s.io", Resource: "mutatingadmissionpolicies"}:         90,
	{Group: "admissionregistration.k8s.io", Resource: "mutatingadmissionpolicybindings"}:   91,
	{Group: "admissionregistration.k8s.io", Resource: "validatingwebhookconfigurations"}:   92,
	{Group: "admissionregistration.k8s.io", Resource: "mutatingwebhookconfigurations"}:     92,
}

// exportKinds lists what a space serves and can be created, in the order in which it is imported.
func exportKinds(d discovery.DiscoveryInterface) ([]exportKind, error) {
	lists, err := d.ServerPreferredResources()
	if err != nil {
		return nil, fmt.Errorf("ask which kinds the space has: %w", err)
	}
	statuses := map[string]bool{}
	_, all, err := d.ServerGroupsAndResources()
	if err != nil {
		return nil, fmt.Errorf("ask which kinds the space has: %w", err)
	}
	for _, l := range all {
		for _, r := range l.APIResources {
			if name, ok := strings.CutSuffix(r.Name, "/status"); ok {
				statuses[l.GroupVersion+"/"+name] = true
			}
		}
	}
	var out []exportKind
	for _, l := range lists {
		gv, err := schema.ParseGroupVersion(l.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range l.APIResources {
			gvr := gv.WithResource(r.Name)
			if leftOut[gvr.GroupResource()] || strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "list") ||
				!slices.Contains(r.Verbs, "create") {
				continue
			}
			out = append(out, exportKind{gvr, r.Kind, r.Namespaced, statuses[l.GroupVersion+"/"+r.Name]})
		}
	}
	slices.SortFunc(out, func(a, b exportKind) int {
		return cmp.Or(
			cmp.Compare(stages[a.GroupResource()], stages[b.GroupResource()]),
			cmp.Compare(a.GroupResource().String(), b.GroupResource().String()),
		)
	})
	return out, nil
}

// isExported leaves out what the center makes by itself, what only shows a site, and what is going.
func isExported(gr schema.GroupResource, o *unstructured.Unstructured) bool {
	_, mirror := o.GetAnnotations()[v1alpha1.AnnotationReportedFrom]
	_, offered := o.GetAnnotations()[v1alpha1.AnnotationOfferedBy]
	switch {
	case mirror || offered || o.GetDeletionTimestamp() != nil:
		return false
	case v1alpha1.IsOfSystem(gr.Group, gr.Resource, o.GetNamespace(), o.GetName()):
		data, _, _ := unstructured.NestedMap(o.Object, "data")
		return len(data) > 0 // somebody has put it there
	case gr == schema.GroupResource{Group: v1alpha1.GroupVersion.Group, Resource: "placements"}:
		return !v1alpha1.IsPolicy(o.GetName())
	case gr == schema.GroupResource{Resource: "configmaps"}:
		return o.GetName() != "kube-root-ca.crt"
	case gr == schema.GroupResource{Group: "apps", Resource: "deployments"}:
		return o.GetAnnotations()[v1alpha1.AnnotationMover] == "" // its claim is at a target of this center
	case gr == schema.GroupResource{Group: "batch", Resource: "jobs"}, gr == schema.GroupResource{Resource: "pods"}:
		return !hasEnded(o) && o.GetAnnotations()[v1alpha1.AnnotationHook] == "" // a hook is of a move at this center
	case gr == schema.GroupResource{Resource: "secrets"}:
		kind, _, _ := unstructured.NestedString(o.Object, "type")
		return kind != "kubernetes.io/service-account-token" // worth nothing under another issuer
	}
	return true
}

// hasEnded reports whether a Job or a Pod has run to its end: elsewhere it would run again.
func hasEnded(o *unstructured.Unstructured) bool {
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	complete, _ := condition(o.Object, "Complete")
	failed, _ := condition(o.Object, "Failed")
	return phase == "Succeeded" || phase == "Failed" || complete == "True" || failed == "True"
}

// strip takes off what belongs to the center and not to the object.
func strip(gr schema.GroupResource, o *unstructured.Unstructured) {
	if gr.Group == "" && (gr.Resource == "services" || gr.Resource == "persistentvolumeclaims") {
		customize.Unallocate(o.Object) // another center's targets choose anew
	}
	notes := o.GetAnnotations()
	for _, name := range v1alpha1.CenterAnnotations() {
		delete(notes, name)
	}
	o.SetAnnotations(notes)
	o.SetResourceVersion("")
	o.SetSelfLink("")
	if gr.Group == v1alpha1.GroupVersion.Group {
		unstructured.RemoveNestedField(o.Object, "status") // decisions about sites that are not the other center's
	}
}

// identity is who an object is, for the center that imports it.
func identity(o *unstructured.Unstructured) v1alpha1.Identity {
	fields := o.GetManagedFields()
	if fields == nil {
		fields = []metav1.ManagedFieldsEntry{}
	}
	return v1alpha1.Identity{
		UID:               string(o.GetUID()),
		CreationTimestamp: metav1.NewTime(o.GetCreationTimestamp().UTC()),
		Generation:        o.GetGeneration(),
		ManagedFields:     fields,
	}
}
