package desired

import (
	"encoding/json"
	"strings"

	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/rollout"
	"skerry.dev/skerry/store"
)

// retire keeps an object that is gone from the space for the targets whose release has it, and reports
// whether there is one.
func (s *step) retire(o *catalog.Object) bool {
	if !s.st.catalog.Retains(o) {
		return false
	}
	if !o.Retired {
		s.st.catalog.Rollouts[o.Source.ID()].Retired[o] = struct{}{}
		s.st.catalog.ContentChanged(o.Source)
	}
	o.Retired, o.Leaving, o.Epoch = true, false, s.st.catalog.Epoch
	if !s.bulk {
		s.settle(o, true)
	}
	return true
}

// dropRetired ends what no release in use has any more.
// With all it ends everything that was retired.
func (s *step) dropRetired(r *catalog.Rolled, all bool) {
	for o := range r.Retired {
		if !all && o.Retired && o.Present && s.st.catalog.Retains(o) {
			continue
		}
		delete(r.Retired, o)
		if !o.Retired || !o.Present {
			continue
		}
		// That the newer release does without it is what somebody wishes.
		o.Retired, o.Goes, o.Leaving = false, true, true
		s.remove(o)
	}
}

// dropRetiredOf ends what was retired of a Placement that is gone, or has no releases any more.
func (s *step) dropRetiredOf(id binding.UnitID) {
	if r := s.st.catalog.Rollouts[id]; r != nil {
		s.dropRetired(r, true)
	}
}

// dropRetiredIn ends what was retired in a Namespace that is being deleted.
func (s *step) dropRetiredIn(n *catalog.Namespace) {
	for _, r := range s.st.catalog.Rollouts {
		for o := range r.Retired {
			if o.Namespace == n {
				s.dropRetired(r, false)
				break
			}
		}
	}
}

// restoreRetired brings back, after a start, what releases in use have and the space has no more.
func (s *step) restoreRetired() {
	st := s.st
	for _, r := range st.catalog.Rollouts {
		s.dropRetired(r, false)
		g := st.catalog.ProgressiveGroup(r.Ref())
		if g == nil || r.State.Empty() {
			continue
		}
		g.Wished(func(o *catalog.Object) {
			if o.Leaving {
				s.retire(o)
			}
		})
		for _, number := range r.State.InUse() {
			release := r.Releases[number]
			if release == nil {
				continue
			}
			var lost []store.Key
			for k := range release.Objects {
				if st.catalog.Find(k) == nil {
					lost = append(lost, k)
				}
			}
			if len(lost) > 0 {
				s.restore(g, r, release, lost)
			}
		}
	}
}

// restore makes retired objects of what a release keeps of them.
func (s *step) restore(g *catalog.Group, r *catalog.Rolled, from *catalog.Kept, lost []store.Key) {
	st := s.st
	content, err := rollout.Unpack(from.Packed)
	if err != nil {
		st.cfg.Log.Error("a release cannot be read", "placement", g.Book.Name, "space", g.Space.Name, "err", err)
		return
	}
	bodies := map[store.Key]rollout.Object{}
	for _, o := range content.Objects {
		bodies[o.Key] = o
	}
	for _, k := range lost {
		var obj map[string]any
		if err := json.Unmarshal(bodies[k].Body, &obj); err != nil {
			st.cfg.Log.Error("an object of a release cannot be read", "key", k.String(), "err", err)
			continue
		}
		n := st.catalog.NamespaceOf(g.Space, k.Namespace)
		if n.Name != "" && (n.Self == nil || n.Self.Leaving) {
			continue
		}
		kind, apiVersion := fields.Clone(obj, "kind"), fields.Clone(obj, "apiVersion")
		o := st.catalog.Place(n, st.catalog.KindOf(store.Write{Key: k, Kind: kind, APIVersion: apiVersion}), k.Name)
		is := readObject(k, obj)
		o.Present, o.Retired, o.Epoch, o.UID = true, true, st.catalog.Epoch, strings.Clone(bodies[k].UID)
		o.Generation, o.Labels, o.Options = bodies[k].Generation, is.labels, g.Book.Options
		o.WishedBy(g)
		o.BeWith(st.catalog.Records.UnitOf(g.ID()))
		o.Hash = from.Objects[k].Hash
		s.connect(o, is)
		r.Retired[o] = struct{}{}
	}
}
