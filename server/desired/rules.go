package desired

import (
	"maps"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/rollout"
	"skerry.dev/skerry/store"
)

// placementObject takes a write of a Placement: its rule when the spec changed.
func (s *step) placementObject(w store.Write) {
	st := s.st
	sp := st.catalog.SpaceOf(w.Key.Space)
	related := sp.Related()
	b := sp.Placements[w.Key.Name]
	meta := fields.Map(w.Object, "metadata")
	if w.Object == nil || (b != nil && b.UID != fields.Clone(meta, "uid")) {
		delete(sp.Placements, w.Key.Name)
		delete(st.catalog.Divided, b)
		if b != nil {
			s.dropRetiredOf(b.Group.ID())
			st.catalog.Rolls.Add(b.Group.UnitRef())
			s.ruleChanged(sp, b, true, related)
		}
		b = nil
	}
	if w.Object == nil {
		st.catalog.TidySpace(sp)
	}
	var o v1alpha1.Placement
	if w.Object == nil || !st.decode(w, &o) {
		return
	}
	if b == nil {
		b = &catalog.Rulebook{Name: w.Key.Name, UID: fields.Clone(meta, "uid"), Generation: -1}
		b.Group = catalog.Group{Kind: catalog.OfPlacement, Space: sp, Book: b}
		b.Objects, b.Lost = map[*catalog.Object]struct{}{}, map[*catalog.Object]struct{}{}
		sp.Placements[b.Name] = b
	}
	b.PolicyOf = policyOf(meta)
	b.Epoch, b.Revision, b.Status = st.catalog.Epoch, w.Revision, fields.Map(w.Object, "status")
	b.Group.Evict = placement.Split(o.Annotations[v1alpha1.AnnotationEvict])
	st.catalog.Known(&b.Group)
	if b.Generation != o.Generation || b.Rule == nil {
		b.Generation = o.Generation
		rule, err := placement.Compile(b.Name, fields.Clone(meta, "creationTimestamp"), o.Spec)
		if b.Problem = ""; err != nil {
			b.Problem = err.Error()
		} else {
			before := b.Rollout
			b.Rule, b.Rollout = rule, rollout.Compile(o.Spec.Rollout)
			if before != nil && b.Rollout == nil && !s.bulk {
				s.dropRetiredOf(b.Group.ID())
				s.settleAll(&b.Group)
			}
			if before != nil || b.Rollout != nil {
				st.catalog.Rolls.Add(b.Group.UnitRef())
			}
			b.SetOptions(o.Spec.Sync, placement.FormatSync(o.Spec.Sync, o.Spec.Status.Associated), st.catalog.Division(b))
		}
		s.ruleChanged(sp, b, false, related)
		st.catalog.WakeCohorts(sp)
	}
	s.describe(sp, b, meta)
	if !s.bulk {
		st.catalog.Enqueue(&b.Group)
		if v1alpha1.IsPolicy(b.Name) {
			st.catalog.WakeSpace(sp) // which may have waited for it
		}
	}
}

// ruleChanged finds out again who decides about the objects of a space that a Placement selected or
// selects; about all of them where the Placement is a policy, which objects may have waited for. The other Placements
// are decided about again that had or get one of these objects, or all of the space where one depends on where others
// are, or did before.
func (s *step) ruleChanged(sp *catalog.Space, b *catalog.Rulebook, gone, related bool) {
	sp.SortRules()
	if s.bulk {
		return
	}
	policy := v1alpha1.IsPolicy(b.Name)
	if policy {
		sp.EachObject(s.moved)
	} else {
		affected := maps.Clone(b.Lost)
		s.st.catalog.Each(&b.Group, func(o *catalog.Object) { affected[o] = struct{}{} })
		if !gone && b.Rule != nil {
			sp.EachObject(func(o *catalog.Object) {
				if o.Present && b.Rule.Matches(o.Subject()) {
					affected[o] = struct{}{}
				}
			})
		}
		for o := range affected {
			if o.Source != nil {
				s.st.catalog.Enqueue(o.Source)
			}
			s.moved(o) // which does so with who gets it
		}
	}
	if policy || related || sp.Related() {
		wakePlacements(s, sp)
	}
}

// wakePlacements has all Placements of a space decided about again.
func wakePlacements(s *step, sp *catalog.Space) {
	for _, b := range sp.Placements {
		s.st.catalog.Enqueue(&b.Group)
	}
}

func (st *State) wakeUnlessBulk(s *step) {
	if !s.bulk {
		st.catalog.WakeAll()
	}
}
