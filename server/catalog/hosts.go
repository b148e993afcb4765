package catalog

import (
	"slices"
	"strings"
)

// A Service governs the Pods of a StatefulSet: each of them has a host name of its own in it. Where the name of the
// Service leads to other targets, these lead there, too, so whoever has the name alone is told which there are.

// hosts are the host names of the pods that a Service which reaches its space governs, as placement.Hosts has them,
// separated by commas. The lock must be held.
func hosts(o *Object) string {
	if !o.Reaches || o.Ties == nil {
		return ""
	}
	var all []string
	for l := range o.Ties.Leaders.all() {
		if l.Work != nil && l.Work.Hosts != nil && l.Work.Hosts.Service == o.Name {
			all = append(all, l.Work.Hosts.Names)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

// Shapes are the objects whose versions for targets depend on an object besides its own: the workloads that it scales,
// the Services that go along with it, and those that it sends callers to. The lock must be held.
func (o *Object) Shapes() []*Object {
	if to := EntersTo(o); to != nil {
		return to
	}
	if o.Ties == nil || o.Work == nil || o.Work.Hosts == nil {
		return o.Scaled()
	}
	return append(o.Scaled(), o.Ties.Followers.list()...)
}
