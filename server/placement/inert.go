package placement

import (
	"fmt"
	"path"
	"slices"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// opensByKind are kinds, as group/resource, that act in their space and never at a site, unless they
// carry v1alpha1.LabelInert: then they act at sites that allow the kind, and not in the space.
var opensByKind = map[string]bool{
	"/resourcequotas": true,
	"admissionregistration.k8s.io/validatingadmissionpolicies":       true,
	"admissionregistration.k8s.io/validatingadmissionpolicybindings": true,
	"admissionregistration.k8s.io/mutatingadmissionpolicies":         true,
	"admissionregistration.k8s.io/mutatingadmissionpolicybindings":   true,
}

// OpensByKind reports whether objects of a kind travel only as inert ones, to sites that allow the
// kind.
func OpensByKind(group, resource string) bool { return opensByKind[group+"/"+resource] }

// mayBeInert reports whether v1alpha1.LabelInert means anything on objects of a kind.
func mayBeInert(group, resource string) bool {
	return OpensByKind(group, resource) || IsRights(group) || IsWebhooks(group, resource) ||
		group == "" && resource == "limitranges"
}

// AllowsKind reports whether a site's policy allows a kind beyond the default. The lists are its
// patterns of RESOURCE.GROUP, or RESOURCE in the core group.
func AllowsKind(kinds, denied []string, group, resource string) bool {
	name := resource
	if group != "" {
		name += "." + group
	}
	in := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			ok, err := path.Match(p, name)
			return ok && err == nil
		})
	}
	return in(kinds) && !in(denied)
}

// inertEffect says of an object with v1alpha1.LabelInert where it acts, "" for all others.
func inertEffect(k store.Key, obj map[string]any) string {
	if fields.String(obj, "metadata", "labels", v1alpha1.LabelInert) != "true" || !mayBeInert(k.Group, k.Resource) {
		return "" // wrongKind says what it means elsewhere
	}
	kind := k.Resource
	if k.Group != "" {
		kind += "." + k.Group
	}
	switch {
	case IsRights(k.Group):
		return fmt.Sprintf(
			"%s: this gives no rights in the space; it acts at sites whose admin lets the space's "+
				"controllers in (allow.controllers of the agent)",
			v1alpha1.LabelInert,
		)
	case IsWebhooks(k.Group, k.Resource):
		return fmt.Sprintf(
			"%s: these webhooks are not asked in the space; sites whose admin allows it (allow.webhooks of "+
				"the agent) ask them about what is born there",
			v1alpha1.LabelInert,
		)
	case k.Resource == "limitranges":
		return fmt.Sprintf(
			"%s: this does not limit what is made in the space; it acts at the sites of its Namespace",
			v1alpha1.LabelInert,
		)
	}
	return fmt.Sprintf(
		"%s: this does not act in the space; it acts at the sites of the space whose admin allows %s "+
			"(allow.kinds of the agent)",
		v1alpha1.LabelInert,
		kind,
	)
}
