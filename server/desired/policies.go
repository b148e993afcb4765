package desired

import (
	"strings"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// policyObject takes a write of a Placement of root.
func (s *step) policyObject(w store.Write) {
	st, name := s.st, w.Key.Name
	before := st.catalog.Policies[name]
	delete(st.catalog.Policies, name)
	var o v1alpha1.Placement
	if w.Object != nil && fields.Clone(w.Object, "metadata", "deletionTimestamp") == "" && st.decode(w, &o) {
		selects, err := o.Spec.SelectsSpaces()
		if err != nil {
			st.cfg.Log.Warn("the spaceSelector of a Placement is not understood, it selects nothing",
				"placement", name, "err", err)
			selects = func(map[string]string) bool { return false }
		}
		st.catalog.Policies[name] = &catalog.Policy{
			UID:       fields.Clone(fields.Map(w.Object, "metadata"), "uid"),
			Selects:   selects,
			Overrides: o.Spec.Precedence == v1alpha1.PrecedenceOverride,
			Epoch:     st.catalog.Epoch,
		}
	}
	if before != nil && before.Overrides {
		st.wakeUnlessBulk(s) // a space may have waited for it
	}
}

// PolicyOf returns the UID of the Placement of root that one in a space is kept for.
func policyOf(meta map[string]any) string {
	text := fields.Clone(meta, "annotations", v1alpha1.AnnotationPolicy)
	return text[:max(0, strings.LastIndexByte(text, '/'))]
}

// tellOverruled tells people of an object with a label of its own that a policy of root decides
// about it all the same.
func (st *State) tellOverruled(o *catalog.Object) {
	if o.Source == nil || o.Source.Kind != catalog.OfPlacement || o.Wish() == "" {
		return
	}
	name := o.Source.Book.Name
	st.cfg.Event(
		placement.Event{
			Key:        o.Key(),
			APIVersion: o.Kind.ApiVersion,
			Kind:       o.Kind.Name,
			UID:        o.UID,
			Warning:    true,
			Reason:     catalog.Overruled,
			Message: "the label " + v1alpha1.LabelTarget + " has no effect here: the platform's policy " +
				name + " decides (kubectl get placement " + name + "); ask the platform's admin for an exception",
		},
	)
}
