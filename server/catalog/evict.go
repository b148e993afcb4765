package catalog

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// readDeparture reads what of a SyncTarget may make workloads leave it. A taint without timeAdded
// counts from when it is first seen.
func readDeparture(obj map[string]any, before placement.Departure, now time.Time) (d placement.Departure) {
	spec := fields.Map(obj, "spec")
	for o := range fields.Maps(spec, "taints") {
		var taint corev1.Taint
		if runtime.DefaultUnstructuredConverter.FromUnstructured(o, &taint) != nil {
			continue
		}
		if taint.TimeAdded == nil && taint.Effect == corev1.TaintEffectNoExecute {
			taint.TimeAdded = firstSeen(before.Taints, taint, now)
		}
		d.Taints = append(d.Taints, taint)
	}
	if unstable(obj) {
		d.Taints = append(d.Taints, corev1.Taint{Key: v1alpha1.TaintUnstable, Effect: corev1.TaintEffectNoSchedule})
	}
	d.EvictAfter, _ = time.ParseDuration(fields.String(spec, "evictAfter"))
	d.MaxConcurrent = int(customize.Number(fields.Map(spec, "drain")["maxConcurrent"]))
	d.RestartJobs = fields.String(spec, "drain", "jobs") == string(v1alpha1.DrainJobsRestart)
	for c := range fields.Maps(obj, "status", "conditions") {
		if c["type"] != v1alpha1.ConditionConnected {
			continue
		}
		since, err := time.Parse(time.RFC3339, fields.String(c, "lastTransitionTime"))
		if err != nil {
			since = now
		}
		if c["status"] == "True" {
			d.BackSince = since
		} else {
			d.AwaySince = since
		}
	}
	policy := v1alpha1.DetachPolicy(fields.String(spec, "detachPolicy"))
	d.Removing = fields.String(obj, "metadata", "deletionTimestamp") != "" && policy.Empties()
	d.Discard = policy == v1alpha1.DetachDiscard
	return d
}

func firstSeen(before []corev1.Taint, taint corev1.Taint, now time.Time) *metav1.Time {
	for _, b := range before {
		if b.MatchTaint(&taint) && b.Value == taint.Value && b.TimeAdded != nil {
			return b.TimeAdded
		}
	}
	return &metav1.Time{Time: now.Truncate(time.Second)}
}

// Depart takes over what may make workloads leave a target. It reports whether that is other than
// before, but for how long the target has been away: when that is too long, and when it is back then,
// what is there is looked at. The lock must be held.
func (c *Catalog) Depart(name string, t *Target, before placement.Departure, obj map[string]any) (changed bool) {
	now := time.Now()
	t.Departure = readDeparture(obj, before, now)
	if t.Removing && !t.Emptied {
		c.Removing[name] = t
	}
	overdue := func(of placement.Departure) bool {
		return of.EvictAfter > 0 && !of.AwaySince.IsZero() && now.Sub(of.AwaySince) >= of.EvictAfter
	}
	switch {
	case overdue(before) && t.AwaySince.IsZero():
		c.Groups.Add(Ref{Kind: OfTarget, Key: TargetKey(name)})
	case t.EvictAfter > 0 && !t.AwaySince.IsZero():
		at := t.AwaySince.Add(t.EvictAfter)
		c.Groups.AddAfter(Ref{Kind: OfTarget, Key: TargetKey(name)}, max(at.Sub(now), time.Second))
	}
	return !t.Departure.Same(before)
}

// Discards reports whether a target is being deleted with all that is on it: then nothing there, no
// volume either, keeps a group from leaving. The lock must not be held.
func (c *Catalog) Discards(target string) bool {
	c.RLock()
	defer c.RUnlock()
	t := c.Removing[target]
	return t != nil && t.Discard
}

// EachUnitOn visits the groups that are decided to be on a target and that can still be decided
// about. The lock must be held.
func (c *Catalog) EachUnitOn(name string, visit func(*Group)) {
	for _, sp := range c.Spaces {
		if !sp.Known {
			continue
		}
		for _, n := range sp.Namespaces {
			if n.Self != nil && !n.Self.Leaving && n.Group.Record.Has(name) {
				visit(&n.Group)
			}
		}
		for _, b := range sp.Placements {
			if b.Group.Record.Has(name) {
				visit(&b.Group)
			}
		}
		sp.EachObject(func(o *Object) {
			g := o.Source
			if g != nil && g.Kind == OfObject && o.Present && !o.Leaving && !o.Finished && g.Record.Has(name) {
				visit(g)
			}
		})
	}
}

// UnitsOn counts what a target has still to be left by: groups, and objects that pass from there.
// The lock must be held.
func (c *Catalog) UnitsOn(name string) (n int) {
	c.EachUnitOn(name, func(*Group) { n++ })
	for _, open := range c.Records.Open {
		for co := range open {
			why := c.Passes[co.Seq].Reason
			if co.On.Has(name) && (why == "" || why == string(placement.JobRunning)) {
				n += len(c.CohortMembers(co, false))
			}
		}
	}
	return n
}

// AllTargets are all targets as decisions see them. The lock must be held.
func (c *Catalog) AllTargets() []placement.Target {
	all := make([]placement.Target, 0, len(c.Targets))
	for _, t := range c.Targets {
		all = append(all, t.Target)
	}
	return all
}

// TargetKey names a target in the queue of groups.
func TargetKey(name string) store.Key {
	return store.Key{
		Space: v1alpha1.RootSpace, Group: v1alpha1.GroupVersion.Group, Resource: "synctargets", Name: name,
	}
}
