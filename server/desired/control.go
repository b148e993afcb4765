package desired

import (
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/scheduler"
	"skerry.dev/skerry/store"
)

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
	case scheduler.Resource:
		s.record(w)
	case "placements":
		if w.Key.Space == v1alpha1.RootSpace {
			s.policyObject(w)
		} else {
			s.placementObject(w)
		}
	}
}

func (s *step) spaceObject(w store.Write) {
	st := s.st
	sp := st.catalog.SpaceOf(w.Key.Name)
	is := spaceOrigin{
		uid: fields.Clone(w.Object, "metadata", "uid"), prefix: fields.Clone(w.Object, "spec", "namespaceMapping", "prefix"),
	}
	st.spaceOrigins.set(w.Key.Name, is)
	if sp.UID != is.uid {
		sp.UID = is.uid
		st.catalog.RerenderIfStale(st.catalog.Imports.Of(sp)...)
	}
	sp.Prefix = is.prefix
	if w.Object == nil {
		sp.Known, sp.Offered, sp.Fallback, sp.Labels = false, nil, placement.Wish{}, nil
		s.borrow(sp, nil)
		st.catalog.TidySpace(sp)
		return
	}
	var o v1alpha1.Space
	if !st.decode(w, &o) {
		return
	}
	s.borrow(sp, o.Spec.APIs)
	sp.Labels = o.Labels
	word := placement.ReachUnsaid
	if o.Spec.Services != nil {
		word = placement.ReachWord(string(o.Spec.Services.Reach))
	}
	if word == placement.ReachUnsaid && o.Spec.ClusterSet != "" {
		word = placement.ReachSpace // what other spaces are led to, its own sites are
	}
	spaceReach(s, sp, word)
	keeps := sp.KeepEntry
	if sp.KeepEntry = catalog.KeepEntry; o.Spec.Services != nil && o.Spec.Services.KeepEntry != nil {
		sp.KeepEntry = o.Spec.Services.KeepEntry.Duration
	}
	if sp.KeepEntry != keeps {
		followDoors(s, sp)
	}
	offered, err := optional(o.Spec.LocationSelector)
	if err != nil {
		st.cfg.Log.Warn(
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
			st.cfg.Log.Warn(
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
	same := sp.Known && text(sp.Offered) == text(offered) && sameWish(sp.Fallback, fallback)
	sp.Known, sp.Offered, sp.Fallback = true, offered, fallback
	if !same && !s.bulk {
		s.followLivesOn(sp)
		followDoors(s, sp)
		st.catalog.WakeSpace(sp)
	}
}

func (s *step) syncTarget(w store.Write) {
	st, name := s.st, w.Key.Name
	if w.Object == nil {
		if st.catalog.Targets[name] != nil {
			delete(st.catalog.Targets, name)
			st.catalog.CountLocations()
			s.followAllLivesOn()
			st.wakeUnlessBulk(s)
		}
		return
	}
	meta := fields.Map(w.Object, "metadata")
	if st.catalog.Superseded(name, meta) {
		return
	}
	uid := fields.Clone(meta, "uid")
	renamed := s.rename(name, uid)
	t := st.catalog.Targets[name]
	fresh := t == nil || t.UID != uid
	if fresh {
		t = &catalog.Target{UID: uid, ID: st.catalog.Records.Targets.ID(uid, name)}
		t.Feed = store.NewFeed(st.cfg.Incarnation, s.revision, st.bodyFor(t)).In(st.cfg.Eras)
		t.Feed.Intends(func(k store.Key) bool { return st.catalog.Intends(t, k) })
		st.catalog.Targets[name] = t
		if !s.first {
			st.Doubts.forget(name)
		}
	}
	before := t.Target
	t.Epoch = st.catalog.Epoch
	t.Target = catalog.ReadTarget(w.Object)
	departs := st.catalog.Depart(name, t, before.Departure, w.Object)
	if t.Room = before.Room; fresh {
		st.catalog.Recharge(name, t)
	}
	t.Renames, t.Metered = catalog.RenamesOf(meta), catalog.ReadMetered(w.Object)
	t.Bounds = readBounds(w.Object)
	departs = departs || !equality.Semantic.DeepEqual(before.Bounds, t.Bounds)
	st.catalog.Capable(t, w.Object)
	if (before.Nodes == nil) != (t.Nodes == nil) {
		departs = true
	} else if !s.bulk && before.Nodes.Less(t.Nodes) {
		st.catalog.Rooms.Wake(st.catalog.Groups)
	}
	t.Facts = st.catalog.ReadFacts(w.Object, t.Has)
	s.values(name, t, w.Object)
	s.reweigh(name)
	s.open(t, catalog.ReadOpened(w.Object))
	if (fresh || renamed) && !s.bulk {
		s.renamed()
	}
	switch {
	case s.bulk:
	case fresh:
		s.fill(name)
	case renamed:
		st.catalog.Recharge(name, t) // what is there was charged again, by the new name
	}
	if fresh || renamed || before.Connected != t.Connected || before.Unschedulable != t.Unschedulable ||
		!maps.Equal(before.Labels, t.Labels) {
		st.catalog.CountLocations()
	}
	if t.Connected && !before.Connected {
		st.catalog.Reconsider()
	}
	if t.Held != before.Held && !s.bulk {
		st.wakeRollouts()
	}
	if before.Connected && !t.Connected && !s.bulk {
		st.catalog.WakeLeft(t.ID)
	}
	if fresh || renamed || before.Removing != t.Removing || !maps.Equal(before.Labels, t.Labels) {
		s.followAllLivesOn()
	}
	if renamed || before.Removing != t.Removing || before.Drained() != t.Drained() ||
		!maps.Equal(before.Labels, t.Labels) {
		followDoors(s, nil)
	}
	switch {
	case s.bulk:
	case fresh || renamed || departs:
		st.wakeUnlessBulk(s)
	case !before.Same(t.Target):
		st.catalog.WakeAffected(before, t.Target)
	}
}

func (s *step) location(w store.Write) {
	st, name := s.st, w.Key.Name
	before := st.catalog.Locations[name]
	var o v1alpha1.Location
	switch {
	case w.Object == nil:
		delete(st.catalog.Locations, name)
	case !st.decode(w, &o):
		return
	default:
		selector, err := metav1.LabelSelectorAsSelector(&o.Spec.Selector)
		if err != nil {
			st.cfg.Log.Warn("location's selector is not understood, the one before stays", "location", name, "err", err)
			return
		}
		st.catalog.Locations[name] = &catalog.Location{
			Location: placement.Location{Name: name, Selector: selector},
			Revision: w.Revision,
			Status:   o.Status,
			Epoch:    st.catalog.Epoch,
		}
		st.catalog.Status.AddAfter(w.Key, catalog.CountDelay)
		if before != nil && before.Selector.String() == selector.String() {
			return
		}
	}
	st.wakeUnlessBulk(s)
}

// sweepControl removes what a snapshot did not mention.
func (s *step) sweepControl() {
	st := s.st
	for name, t := range st.catalog.Targets {
		if t.Epoch != st.catalog.Epoch {
			delete(st.catalog.Targets, name)
		}
	}
	for name, l := range st.catalog.Locations {
		if l.Epoch != st.catalog.Epoch {
			delete(st.catalog.Locations, name)
		}
	}
	st.catalog.Policies.Sweep(st.catalog.Epoch)
	s.sweepRecords()
	s.sweepRollouts()
	for _, sp := range st.catalog.Spaces {
		for name, b := range sp.Placements {
			if b.Epoch != st.catalog.Epoch {
				delete(sp.Placements, name)
				delete(st.catalog.Divided, b)
			}
		}
		sp.SortRules()
	}
}

func (st *State) decode(w store.Write, into any) bool {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(w.Object, into); err != nil {
		st.cfg.Log.Error("object of our own is not understood, the one before stays", "key", w.Key.String(), "err", err)
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

// describe takes over the labels of a Placement, and wakes those that depend on them.
func (s *step) describe(sp *catalog.Space, b *catalog.Rulebook, of map[string]any) {
	now := labels.Set{}
	for k := range fields.Map(of, "labels") {
		now[k] = fields.Clone(of, "labels", k)
	}
	changed := !maps.Equal(b.Labels, now)
	if b.Labels = now; changed {
		s.related(sp)
	}
}

// related wakes the Placements that depend on where others are.
func (s *step) related(sp *catalog.Space) {
	if !s.bulk && sp.Related() {
		wakePlacements(s, sp)
	}
}
