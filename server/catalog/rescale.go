package catalog

import (
	"slices"

	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/rollout"
)

// A scale is no release: how many replicas a workload has, and how they are divided, is the same for all
// targets, whatever release they have. So the contents of the releases in use are recorded anew when the
// workload says something else. What a target gets still follows from what is stored alone.

// Scaled is what a workload says of its replicas.
type Scaled struct {
	Replicas int64
	Shares   string // the annotation that divides them, empty where each target has all
}

// Scale is how an object is to be scaled on all targets. It is false for one without replicas, and where
// their number is each target's business. The lock must be held.
func (c *Catalog) Scale(o *Object) (s Scaled, ok bool) {
	m := c.WantedOptions(o)
	if !placement.HasReplicas(o.Kind.Group, o.Kind.Resource) || m == nil ||
		placement.Retains(m.Policy, "/spec/replicas") {
		return s, false
	}
	if o.Work != nil {
		s.Replicas = o.Work.Replicas
	}
	s.Shares = customize.Shares(m.Division, s.Replicas)
	return s, true
}

// Scaling reports whether a target might get an object that is yet to be scaled, or divided, as it is to
// be: nobody is ready with that. The lock must be held.
func (c *Catalog) Scaling(o *Object) bool {
	want, ok := c.Scale(o)
	if !ok {
		return false
	}
	if !o.Retired && !o.Options.sharing().Same(c.WantedOptions(o).Division) {
		return true
	}
	return c.keptAs(o, func(is Scaled) bool { return is != want })
}

// Sources are the releases from which targets may get objects: those in use, and for what came to the unit
// later those after them, see joined.
func Sources(s rollout.State) (out []uint64) {
	if s.Empty() {
		return nil
	}
	oldest := s.InUse()[0]
	for _, r := range s.Releases {
		if r.Number >= oldest {
			out = append(out, r.Number)
		}
	}
	return out
}

// keptAs reports whether a release that targets may get an object from has another version of it, scaled in
// a way.
func (c *Catalog) keptAs(o *Object, way func(Scaled) bool) bool {
	r := c.Rolling(o.Source)
	if r == nil {
		return false
	}
	return slices.ContainsFunc(Sources(r.State), func(number uint64) bool {
		release := r.Releases[number]
		if release == nil {
			return false
		}
		is := release.Objects[o.Key()]
		return is != nil && is.UID == o.UID && is.Digest != o.Digest && way(is.Scaled)
	})
}

// sharing is how options divide replicas. They may be nil.
func (m *RenderOptions) sharing() *placement.Division {
	if m == nil {
		return nil
	}
	return m.Division
}
