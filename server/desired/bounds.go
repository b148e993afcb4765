package desired

import (
	"k8s.io/apimachinery/pkg/runtime"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
)

func readBounds(obj map[string]any) *v1alpha1.Bounds {
	of := fields.Map(obj, "spec", "bounds")
	if len(of) == 0 {
		return nil
	}
	var b v1alpha1.Bounds
	if runtime.DefaultUnstructuredConverter.FromUnstructured(of, &b) != nil {
		return nil
	}
	return &b
}

// charge moves what an object requests from the targets that it is on to those that it will be on.
// The lock must be held.
func (st *State) charge(o *catalog.Object, next *catalog.Set) {
	if o.Work == nil {
		return
	}
	w := o.Work
	now := w.Requests
	if o.Finished || !o.Present || o.Leaving {
		now = placement.Requests{}
	}
	charged := catalog.Charge{Requests: now, Division: o.Division()}
	if w.Charged == charged && o.On == next {
		return
	}
	before, was := o.On, w.Charged
	w.Charged = charged
	for _, name := range before.List() {
		if t := st.catalog.Targets[name]; t != nil {
			t.Requested = t.Requested.Minus(was.At(name))
		}
	}
	for _, name := range next.List() {
		if t := st.catalog.Targets[name]; t != nil {
			t.Requested = t.Requested.Plus(charged.At(name))
		}
	}
	for _, name := range placement.Union(before.List(), next.List()) {
		if t := st.catalog.Targets[name]; t != nil && (t.Bounds != nil || t.Nodes != nil) {
			st.roomChanged(name, t, o, next.Has(name))
		}
	}
	o.DropWork()
}

// roomChanged looks at the groups that a change of what is placed on a target concerns: that of the
// object, where the target is over its bounds with it; those that are still there, where it is over
// them after one has left; and those for which there was no room. The lock must be held.
func (st *State) roomChanged(name string, t *catalog.Target, o *catalog.Object, there bool) {
	over := t.Over(t.Feed.Len(), placement.Load{}) != ""
	by, leaves := st.catalog.Rooms.Overflow[name]
	left := leaves && !there && o.Source != nil && o.Source.Ref() == by
	if leaves && (!over || left) {
		delete(st.catalog.Rooms.Overflow, name)
	}
	switch {
	case over && there && o.Source != nil:
		if by, leaves := st.catalog.Rooms.Overflow[name]; !leaves || !st.catalog.StillOn(by, name) {
			st.catalog.Rooms.Overflow[name] = o.Source.Ref()
		}
		st.catalog.Enqueue(o.Source)
	case over && left:
		st.catalog.Groups.AddAfter(catalog.Ref{Kind: catalog.OfTarget, Key: catalog.TargetKey(name)}, catalog.RoomDelay)
	}
	if !over {
		st.catalog.Rooms.Wake(st.catalog.Groups)
	}
	st.cfg.Moved(name)
}
