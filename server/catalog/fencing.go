package catalog

import (
	"slices"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/lease"
)

// What must not run twice leaves a target that is away in three steps, whatever type of move its
// Placement wishes: the target's feed loses it, so that an agent that comes back learns that first;
// then it is waited until nothing of it can run there (placement.Absent); then it is added
// elsewhere. This file decides that and nothing else.

// IsClaim reports whether an object is a PersistentVolumeClaim.
func (o *Object) IsClaim() bool {
	return o.Kind.Group == "" && o.Kind.Resource == "persistentvolumeclaims"
}

// ReadOnce takes over whether an object must not run twice, or, of a claim, whether workloads must
// not for its sake. The lock must be held.
func (o *Object) ReadOnce(k store.Key, obj map[string]any) {
	if o.IsClaim() {
		o.once = !lease.Shared(obj)
		return
	}
	w, ok := lease.Read(k, obj)
	if !ok {
		return
	}
	o.once = w.Once
	if o.Work != nil {
		o.Work.StopTime = w.StopTime
	}
}

// RunsOnce reports whether a workload must not run twice. The lock must be held.
func (o *Object) RunsOnce() bool {
	if !lease.MayRunOnce(o.Kind.Group, o.Kind.Resource) {
		return false
	}
	if o.Kind.Resource == "statefulsets" {
		return o.once && !o.Source.duplicates()
	}
	return o.once || o.Work != nil && slices.ContainsFunc(o.Work.Names, func(dep *Object) bool {
		return dep.IsClaim() && (dep.once || !dep.Present)
	})
}

// RunsUnseen reports whether Pods may run for an object that no agent can stop: those of a custom
// resource, which an operator makes, and of a DaemonSet.
func (o *Object) RunsUnseen() bool {
	return !placement.BuiltIn(o.Kind.Group) || o.Kind.Group == "apps" && o.Kind.Resource == "daemonsets"
}

// Failover is what the Placement of a group says, empty where none does.
func (g *Group) Failover() v1alpha1.FailoverMode {
	if r := g.Rule(); r != nil {
		return r.Failover
	}
	return ""
}

// WakeLeft looks again at what has left a target and waits for its word: it is away now, and its lease may
// be waited for instead. The lock must be held.
func (c *Catalog) WakeLeft(t binding.TargetID) {
	left := func(r binding.Record) bool {
		return slices.ContainsFunc(r.Places, func(p binding.Place) bool { return p.Off && p.Target == t })
	}
	for _, sp := range c.Spaces {
		c.wakeGroups(sp, func(g *Group) bool {
			return g.Moving && left(c.Records.Index.Record(binding.Ref{Unit: g.ID()}))
		})
	}
}

// unstable reports whether a target was lost several times, and is not trusted yet with anything new.
func unstable(obj map[string]any) bool {
	for c := range fields.Maps(obj, "status", "conditions") {
		if c["type"] == v1alpha1.ConditionStable {
			return c["status"] == "False"
		}
	}
	return false
}
