package apply

import (
	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/site"
	"skerry.dev/skerry/agent/variants"
	"skerry.dev/skerry/store"
)

// unmark takes the mark of a default class off an IngressClass of a space: at a site it would give the class the
// Ingresses of everybody who names none. Those of the space name it, as the space fills it in. A site whose admin
// has opened the kind takes the mark.
func unmark(g *site.Gate, e store.Entry, v *variants.Variant) error {
	if !g.Sealed() || !policy.IsIngressClass(e.Key.Group, e.Key.Resource) || g.Rules.Policy().MayServeAll() {
		return nil
	}
	return reshape(e, v, func(o map[string]any) (bool, error) {
		metadata, _ := o["metadata"].(map[string]any)
		annotations, _ := metadata["annotations"].(map[string]any)
		_, marked := annotations[policy.DefaultIngressClass]
		delete(annotations, policy.DefaultIngressClass)
		return marked, nil
	})
}
