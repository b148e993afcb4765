package delivery

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// location is a Location with the snapshot that mentioned it.
type location struct {
	placement.Location
	revision int64
	status   v1alpha1.LocationStatus // as stored
	epoch    uint32
}

// control takes a write of what decides: Spaces, SyncTargets, Locations and Placements.
func (s *step) control(w store.Write) {
	switch w.Key.Resource {
	case "spaces":
		s.spaceObject(w)
	case "synctargets":
		s.syncTarget(w)
	case "locations":
		s.location(w)
	case "deletions":
		s.deletion(w)
	case "placements":
		if w.Key.Space != v1alpha1.RootSpace {
			s.placementObject(w)
		}
	}
}

func (s *step) spaceObject(w store.Write) {
	d := s.d
	sp := d.spaceOf(w.Key.Name)
	d.spaceOrigins.set(w.Key.Name, spaceOrigin{
		uid: str(w.Object, "metadata", "uid"), prefix: str(w.Object, "spec", "namespaceMapping", "prefix"),
	})
	if w.Object == nil {
		sp.known, sp.offered, sp.fallback = false, nil, placement.Wish{}
		s.borrow(sp, nil)
		d.tidySpace(sp)
		return
	}
	var o v1alpha1.Space
	if !d.decode(w, &o) {
		return
	}
	s.borrow(sp, o.Spec.APIs)
	offered, err := optional(o.Spec.LocationSelector)
	if err != nil {
		d.cfg.Log.Warn(
			"space's locationSelector is not understood, the one before stays",
			"space",
			w.Key.Name,
			"err",
			err,
		)
		return
	}
	fallback := placement.Wish{}
	if t := o.Spec.DefaultTargets; t != nil {
		selector, err := optional(t.Selector)
		if err != nil {
			d.cfg.Log.Warn(
				"space's defaultTargets is not understood, the one before stays",
				"space",
				w.Key.Name,
				"err",
				err,
			)
			return
		}
		if selector == nil {
			selector = labels.Everything()
		}
		fallback = placement.Wish{Selectors: []labels.Selector{selector}, Count: max(1, int(t.Count))}
	}
	same := sp.known && text(sp.offered) == text(offered) && sameWish(sp.fallback, fallback)
	sp.known, sp.offered, sp.fallback = true, offered, fallback
	if !same && !s.bulk {
		d.wakeSpace(sp)
	}
}

// tidySpace forgets a space that is gone and has nothing left.
func (d *Delivery) tidySpace(sp *space) {
	if !sp.known && len(sp.namespaces) == 0 && len(sp.cluster.objects) == 0 && len(sp.placements) == 0 &&
		len(sp.lentTo) == 0 {
		delete(d.spaces, sp.name)
	}
}

func (s *step) syncTarget(w store.Write) {
	d, name := s.d, w.Key.Name
	if w.Object == nil {
		if d.targets[name] != nil {
			delete(d.targets, name)
			d.countLocations()
			d.wakeUnlessBulk(s)
		}
		return
	}
	meta := fields.Map(w.Object, "metadata")
	t := d.targets[name]
	fresh := t == nil || t.uid != str(meta, "uid")
	if fresh {
		t = &target{uid: str(meta, "uid"), feed: store.NewFeed(d.cfg.Incarnation, s.revision, d.body).In(d.cfg.Eras)}
		t.feed.Intends(func(k store.Key) bool { return d.intends(t, k) })
		d.targets[name] = t
		if !s.first {
			d.doubts.forget(name)
		}
	}
	before := t.Target
	t.epoch = d.epoch
	t.Target = readTarget(w.Object)
	s.open(t, readOpened(w.Object))
	if fresh && !s.bulk {
		s.fill(name)
	}
	s.empty(name, t, w.Object)
	if fresh || before.Connected != t.Connected || before.Unschedulable != t.Unschedulable ||
		!maps.Equal(before.Labels, t.Labels) {
		d.countLocations()
	}
	if t.Connected && !before.Connected {
		d.reconsider()
		s.retryHolds(func(h *hold) bool { return h.absent })
	}
	if fresh || before.Unschedulable != t.Unschedulable || !maps.Equal(before.Labels, t.Labels) {
		d.wakeUnlessBulk(s)
	}
}

func readTarget(obj map[string]any) placement.Target {
	meta := fields.Map(obj, "metadata")
	t := placement.Target{Name: str(meta, "name"), Labels: labels.Set{}}
	for k := range fields.Map(meta, "labels") {
		t.Labels[k] = str(meta, "labels", k)
	}
	cordoned, _ := fields.Map(obj, "spec")["unschedulable"].(bool)
	t.Unschedulable = cordoned || str(meta, "deletionTimestamp") != ""
	conditions := fields.List(obj, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && str(m, "type") == v1alpha1.ConditionConnected {
			t.Connected = str(m, "status") == "True"
		}
	}
	return t
}

func (s *step) location(w store.Write) {
	d, name := s.d, w.Key.Name
	before := d.locations[name]
	var o v1alpha1.Location
	switch {
	case w.Object == nil:
		delete(d.locations, name)
	case !d.decode(w, &o):
		return
	default:
		selector, err := metav1.LabelSelectorAsSelector(&o.Spec.Selector)
		if err != nil {
			d.cfg.Log.Warn("location's selector is not understood, the one before stays", "location", name, "err", err)
			return
		}
		d.locations[name] = &location{
			Location: placement.Location{Name: name, Selector: selector},
			revision: w.Revision,
			status:   o.Status,
			epoch:    d.epoch,
		}
		d.status.AddAfter(w.Key, countDelay)
		if before != nil && before.Selector.String() == selector.String() {
			return
		}
	}
	d.wakeUnlessBulk(s)
}

// sweepControl removes what a snapshot did not mention.
func (s *step) sweepControl() {
	d := s.d
	for name, t := range d.targets {
		if t.epoch != d.epoch {
			delete(d.targets, name)
		}
	}
	for name, l := range d.locations {
		if l.epoch != d.epoch {
			delete(d.locations, name)
		}
	}
	for _, sp := range d.spaces {
		for name, b := range sp.placements {
			if b.epoch != d.epoch {
				delete(sp.placements, name)
			}
		}
		sp.sortRules()
	}
}

// world is what a space may choose from. The lock must be held.
func (d *Delivery) world(sp *space) placement.World {
	w := placement.World{Offered: sp.offered}
	for _, t := range d.targets {
		if t.emptied {
			continue
		}
		one := t.Target
		one.Objects = t.feed.Len()
		w.Targets = append(w.Targets, one)
	}
	for _, l := range d.locations {
		w.Locations = append(w.Locations, l.Location)
	}
	return w
}

func (d *Delivery) decode(w store.Write, into any) bool {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(w.Object, into); err != nil {
		d.cfg.Log.Error("object of our own is not understood, the one before stays", "key", w.Key.String(), "err", err)
		return false
	}
	return true
}

func optional(s *metav1.LabelSelector) (labels.Selector, error) {
	if s == nil {
		return nil, nil
	}
	return metav1.LabelSelectorAsSelector(s)
}

func text(s labels.Selector) string {
	if s == nil {
		return ""
	}
	return s.String()
}

func sameWish(a, b placement.Wish) bool {
	if a.Count != b.Count || len(a.Selectors) != len(b.Selectors) {
		return false
	}
	for i := range a.Selectors {
		if a.Selectors[i].String() != b.Selectors[i].String() {
			return false
		}
	}
	return true
}
