package events

import (
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/selection"

	onsite "skerry.dev/skerry/tunnel/events"
)

// selected is the one object that a field selector names, or all of a kind, or all.
type selected struct {
	name string // empty for all
	kind string // empty for any
	uid  string // empty for any
}

// selectedBy reads a field selector, in the terms of the core group. Ok is false where it names neither
// one object of the namespace nor a kind of which sites have something to say, or where the list is of
// another time than now. A list that names nothing is of all, unless a controller fills its cache by it.
func selectedBy(o *internalversion.ListOptions, namespace string) (s selected, ok bool) {
	if o == nil || namespace == "" || !ofNow(o) {
		return s, false
	}
	in := namespace
	for _, r := range fieldsOf(o).Requirements() {
		if r.Operator != selection.Equals && r.Operator != selection.DoubleEquals {
			continue
		}
		switch r.Field {
		case "involvedObject.name":
			s.name = r.Value
		case "involvedObject.kind":
			s.kind = r.Value
		case "involvedObject.uid":
			s.uid = r.Value
		case "involvedObject.namespace":
			in = r.Value
		}
	}
	_, ofKind := onsite.KindOf(s.kind)
	switch {
	case in != namespace:
		return s, false
	case s == selected{}:
		return s, byHand(o)
	}
	return s, s.name != "" || ofKind && s.uid == ""
}

// byHand reports whether a list is of somebody who looks: one that fills a cache says from when on, or goes on.
func byHand(o *internalversion.ListOptions) bool { return o.ResourceVersion == "" && o.Continue == "" }

// ofNow reports whether a list is of what is now, as far as its options say.
func ofNow(o *internalversion.ListOptions) bool {
	return o.Continue != "" || o.ResourceVersion == "" || o.ResourceVersion == "0"
}

// kinds are those that the object may have.
func (s selected) kinds() []string {
	if s.kind == "" {
		return onsite.Kinds()
	}
	return []string{s.kind}
}

// fieldsOf returns what selects Events: everything where there is no selector.
func fieldsOf(o *internalversion.ListOptions) fields.Selector {
	if o.FieldSelector == nil {
		return fields.Everything()
	}
	return o.FieldSelector
}
