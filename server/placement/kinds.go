package placement

import (
	"path"
	"slices"
	"strings"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// Class is what becomes of a kind, see the table "Which kinds go where" of the API.
type Class uint8

// The classes.
const (
	// Placed kinds are stored in the space and act on the targets: the default. A LimitRange acts in
	// the space, too: each place completes the Pods that are made there.
	Placed Class = iota
	// Both kinds act in the space and on the targets: Namespaces and CustomResourceDefinitions
	// follow what needs them, Customizers all of their space, Upsyncs their Placement.
	Both
	// Inert kinds act in the space, and would act on a target too. They are never placed for
	// themselves; a ServiceAccount travels, without rights, with a workload that names it, and the
	// default one with all workloads of its namespace, where it says something of their Pods.
	Inert
	// Never placed.
	Never
)

// inertGroups and neverGroups are classed as a whole.
var (
	inertGroups = map[string]bool{
		"rbac.authorization.k8s.io": true, "admissionregistration.k8s.io": true, "apiregistration.k8s.io": true,
		"flowcontrol.apiserver.k8s.io": true, "certificates.k8s.io": true,
	}
	neverGroups = map[string]bool{
		"events.k8s.io": true, "coordination.k8s.io": true,
		"authentication.k8s.io": true, "authorization.k8s.io": true, "internal.apiserver.k8s.io": true,
		"storagemigration.k8s.io": true, v1alpha1.GroupVersion.Group: true,
		v1alpha1.FleetGroup: true, "about.k8s.io": true, "metrics.k8s.io": true,
	}
	kinds = map[[2]string]Class{
		{"", "namespaces"}:                                    Both,
		{store.RulesGroup, store.RulesResource}:               Both,
		{store.RulesGroup, store.UpsyncsResource}:             Both,
		{"apiextensions.k8s.io", "customresourcedefinitions"}: Both,
		{"", "serviceaccounts"}:                               Inert,
		{"", "resourcequotas"}:                                Inert,
		{"", "events"}:                                        Never,
		{"", "nodes"}:                                         Never,
		{"", "bindings"}:                                      Never,
		{"", "componentstatuses"}:                             Never,
		{"apps", "controllerrevisions"}:                       Never,
		{"storage.k8s.io", "volumeattachments"}:               Never,
		{"storage.k8s.io", "csinodes"}:                        Never,
		{"storage.k8s.io", "csistoragecapacities"}:            Never,
		{"networking.k8s.io", "ipaddresses"}:                  Never,
		{"networking.k8s.io", "servicecidrs"}:                 Never,
		{"resource.k8s.io", "resourceslices"}:                 Never,
		{"resource.k8s.io", "devicetaintrules"}:               Never,
	}
)

// ClassOf tells what becomes of a kind.
func ClassOf(group, resource string) Class {
	if c, ok := kinds[[2]string{group, resource}]; ok {
		return c
	}
	switch {
	case neverGroups[group]:
		return Never
	case inertGroups[group]:
		return Inert
	default:
		return Placed
	}
}

// Told reports whether targets tell the status of a kind: of what is placed, and of Customizers.
func Told(group, resource string) bool {
	return ClassOf(group, resource) == Placed || group == store.RulesGroup && resource == store.RulesResource
}

// Excluded reports whether one object stays out although its kind travels: what the space's own
// machinery makes, what only mirrors a target, credentials of the space, everything of the root
// space, Ingresses that the center serves, and rights in namespaces named kube-*.
func Excluded(k store.Key, obj map[string]any) bool {
	if k.Space == v1alpha1.RootSpace || ownNamespace(k.Namespace) ||
		IsRights(k.Group) && store.IsSystem(k.Namespace) {
		return true
	}
	meta := fields.Map(obj, "metadata")
	annotations := fields.Map(meta, "annotations")
	if _, mirrored := annotations[v1alpha1.AnnotationReportedFrom]; mirrored {
		return true
	}
	switch k.Group + "/" + k.Resource {
	case "/namespaces":
		return ownNamespace(k.Name)
	case "/configmaps":
		return k.Name == "kube-root-ca.crt" ||
			k.Namespace == "kube-system" && k.Name == v1alpha1.AuthenticationConfig
	case "networking.k8s.io/ingresses":
		return CenterServes(k, obj)
	case "/serviceaccounts":
		return k.Name == DefaultAccount && !saysOfPods(obj)
	case "/secrets":
		t := fields.String(obj, "type")
		return t == "kubernetes.io/service-account-token" || t == helmRelease ||
			strings.HasPrefix(t, "bootstrap.kubernetes.io/") ||
			strings.HasPrefix(t, "skerry.dev/")
	case "rbac.authorization.k8s.io/rolebindings", "rbac.authorization.k8s.io/clusterrolebindings":
		return bindsPeople(obj)
	case "scheduling.k8s.io/priorityclasses":
		return strings.HasPrefix(k.Name, "system-")
	case "admissionregistration.k8s.io/mutatingwebhookconfigurations",
		"admissionregistration.k8s.io/validatingwebhookconfigurations":
		return !Mirrored(k, obj)
	case "apiextensions.k8s.io/customresourcedefinitions":
		return strings.HasSuffix(k.Name, "."+v1alpha1.GroupVersion.Group)
	}
	return false
}

// ownNamespace reports whether a namespace is of a space's own machinery, or of a cluster's, and never
// placed.
func ownNamespace(name string) bool {
	return name == v1alpha1.UsersNamespace || name == "kube-public" || name == "kube-node-lease"
}

// helmRelease is the type of the Secrets in which helm remembers what it has installed, in the
// space that it was pointed at.
const helmRelease = "helm.sh/release.v1"

// IsRights reports whether the objects of a group give rights: they act in their space, and travel
// to sites that have opened that.
func IsRights(group string) bool { return group == "rbac.authorization.k8s.io" }

// Opens reports whether a site has opened the controllers of a space: in namespaces, and in the whole
// cluster where namespace is empty. The lists are the patterns of the site's policy.
func Opens(controllers, clusterControllers []string, space, namespace string) bool {
	if namespace == "" {
		return Named(clusterControllers, space)
	}
	return Named(controllers, space)
}

// Named reports whether a list of a site's policy names a space.
func Named(patterns []string, space string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, space)
		return ok && err == nil
	})
}

// bindsPeople reports whether a binding names no ServiceAccount: it is about people of the space.
func bindsPeople(obj map[string]any) bool {
	for s := range fields.Maps(obj, "subjects") {
		if s["kind"] == "ServiceAccount" {
			return false
		}
	}
	return true
}

// StaysInSpace reports whether a CustomResourceDefinition says that it, and its custom resources,
// are for the controllers of the space alone and go to no target.
func StaysInSpace(k store.Key, obj map[string]any) bool {
	return k.Class() == store.ClassCRD &&
		fields.String(obj, "metadata", "annotations", v1alpha1.AnnotationPlacement) == v1alpha1.PlacementNone
}

// BuiltIn reports whether a group is one of Kubernetes itself, so that its kinds' statuses are
// known.
func BuiltIn(group string) bool {
	switch group {
	case "", "apps", "batch", "autoscaling", "policy":
		return true
	}
	return strings.HasSuffix(group, ".k8s.io")
}
