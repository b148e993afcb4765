package delivery

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// Targets is asked by admission for every create and update of a user: what the annotation
// skerry.dev/targets shall say in this very write, so that an ordinary apply costs one. It is not
// known where a decision must be made first; the decision writer then follows. An update never
// moves anything: a record that the object has stays as it is.
func (d *Delivery) Targets(space string, k store.Key, obj metav1.Object) (string, bool) {
	class := placement.ClassOf(k.Group, k.Resource)
	isNamespace := k.Class() == store.ClassNamespace
	if class != placement.Placed && !isNamespace || excludedByMeta(k, obj) {
		return "", false
	}
	annotation, wish := obj.GetAnnotations()[v1alpha1.AnnotationTargets], obj.GetLabels()[v1alpha1.LabelTarget]
	d.mu.RLock()
	defer d.mu.RUnlock()
	sp := d.spaces[space]
	if sp == nil {
		return "", false
	}
	o := d.find(k)
	switch {
	case isNamespace && k.Name == metav1.NamespaceDefault && wish == "" && annotation == "":
		return "", false // every space has it, most never use it: it is decided when something is in it
	case isNamespace, wish != "" && (o == nil || !derives(o)):
		return d.ownTargets(sp, o, annotation, wish)
	case o != nil && derives(
		o,
	): // with a wish of its own, too, it begins where it is: its annotation may still name what it has left
		if text := d.wantedNote(o); text != "" || wish == "" {
			return text, text != ""
		}
		return d.ownTargets(sp, nil, "", wish)
	case o != nil && annotation != "":
		return annotation, true // it had a record of its own until now, or has
	}
	if record, found := d.ruled(sp, k, obj); found {
		return record.derived(), record != nil
	}
	if k.Namespace == "" {
		return d.ownTargets(sp, o, annotation, "")
	}
	if n := sp.namespaces[k.Namespace]; n != nil && n.group.record != nil {
		return n.group.record.derived(), true
	}
	return "", false
}

// ownTargets is for what holds a record: the one that it has, else the first decision.
func (d *Delivery) ownTargets(sp *space, o *object, annotation, wish string) (string, bool) {
	if annotation != "" {
		return annotation, true
	}
	if o != nil {
		return o.note.record(), o.note != nil
	}
	if !sp.known {
		return "", false
	}
	w := sp.fallback
	if wish != "" {
		w = placement.Wish{Names: []string{wish}, Count: max(1, sp.fallback.Count)}
	}
	c := placement.Choose(w, d.world(sp), nil)
	return placement.Join(c.Targets), len(c.Targets) > 0
}

// ruled returns the record of the Placement that selects an object.
func (d *Delivery) ruled(sp *space, k store.Key, obj metav1.Object) (*set, bool) {
	if len(sp.rules) == 0 {
		return nil, false
	}
	s := placement.Subject{Key: k, Labels: labels.Set(obj.GetLabels()), NamespaceLabels: labelText{}}
	if n := sp.namespaces[k.Namespace]; n != nil && k.Namespace != "" {
		s.NamespaceLabels = n.labels
	}
	if r, _ := placement.Resolve(sp.rules, s); r != nil {
		return sp.placements[r.Name].group.record, true
	}
	return nil, false
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
