package delivery

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// Admitted is what admission writes on a new object: the view of where it goes, and its stamp. Both
// are empty while that is not known; the leader then writes them.
type Admitted struct {
	Targets, Unit string
}

// Admit is asked by admission for every object that a user creates, so that an ordinary apply costs
// one write.
func (d *Delivery) Admit(space string, k store.Key, obj metav1.Object) (a Admitted) {
	class := placement.ClassOf(k.Group, k.Resource)
	isNamespace := k.Class() == store.ClassNamespace
	if class != placement.Placed && !isNamespace || excludedByMeta(k, obj) ||
		obj.GetAnnotations()[v1alpha1.AnnotationHook] != "" || obj.GetAnnotations()[v1alpha1.AnnotationMover] != "" {
		return a
	}
	wish := obj.GetLabels()[v1alpha1.LabelTarget]
	d.catalog.RLock()
	defer d.catalog.RUnlock()
	sp := d.catalog.Spaces[space]
	if sp == nil || d.catalog.StaysInSpace(sp, k.Group, k.Resource) {
		return a
	}
	switch {
	case isNamespace && catalog.WaitsForContent(k.Name, wish), d.catalog.AwaitsPolicy(sp):
		return a
	case isNamespace:
		a.Targets = d.firstTargets(sp, nil, wish)
		return a
	}
	g := d.ruled(sp, k, obj)
	if g == nil && (wish != "" || k.Namespace == "") {
		a.Targets, a.Unit = d.firstTargets(sp, &k, wish), v1alpha1.UnitSelf
		return a
	}
	if n := sp.Namespaces[k.Namespace]; g == nil && n != nil && n.Self != nil {
		g = &n.Group
	}
	if g == nil || g.ID() == "" || g.BreaksFirst() || !d.catalog.Records.Index.Admits(g.ID()) {
		return a
	}
	a.Targets, a.Unit = d.catalog.RecordFor(g, k, obj.GetAnnotations()).Derived(), string(g.ID())
	return a
}

// firstTargets are those of the first decision about something that decides for itself, empty where
// that is made when it is known what is in it.
func (d *Delivery) firstTargets(sp *catalog.Space, k *store.Key, wish string) string {
	if !sp.Known || d.catalog.Bounded() {
		return ""
	}
	w := sp.Fallback
	if wish != "" {
		if wish == v1alpha1.TargetNone {
			return ""
		}
		w = placement.Wish{Names: []string{wish}, Count: max(1, sp.Fallback.Count)}
	}
	world := d.catalog.World(sp)
	if k != nil {
		if a, ok := d.catalog.Served.Scarce[d.catalog.Kinds[[2]string{k.Group, k.Resource}]]; ok {
			world.Needs = []placement.API{a}
		}
	}
	return placement.Join(placement.Choose(w, world, nil).Targets)
}

// ruled returns the group of the Placement that decides about an object, nil where none does.
func (d *Delivery) ruled(sp *catalog.Space, k store.Key, obj metav1.Object) *catalog.Group {
	if len(sp.Rules) == 0 {
		return nil
	}
	s := placement.Subject{Key: k, Labels: labels.Set(obj.GetLabels()), NamespaceLabels: catalog.LabelText{}}
	if n := sp.Namespaces[k.Namespace]; n != nil && k.Namespace != "" {
		s.NamespaceLabels = n.Labels
	}
	g, _ := sp.Ruling(s, obj.GetLabels()[v1alpha1.LabelTarget] != "")
	return g
}

// excludedByMeta is placement.Excluded as far as metadata tells.
func excludedByMeta(k store.Key, obj metav1.Object) bool {
	annotations := obj.GetAnnotations()
	if _, token := annotations["kubernetes.io/service-account.name"]; token && k.Resource == "secrets" {
		return true
	}
	if from, mirrored := annotations[v1alpha1.AnnotationReportedFrom]; mirrored {
		return placement.Excluded(k, map[string]any{"metadata": map[string]any{
			"annotations": map[string]any{v1alpha1.AnnotationReportedFrom: from}}})
	}
	return placement.Excluded(k, nil)
}
