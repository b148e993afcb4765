package placement

import (
	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// CenterServes reports whether an object is an Ingress that the center itself serves: it goes to no site.
func CenterServes(k store.Key, obj map[string]any) bool {
	return k.Group == "networking.k8s.io" && k.Resource == "ingresses" &&
		fields.String(obj, "spec", "ingressClassName") == v1alpha1.IngressClass
}
