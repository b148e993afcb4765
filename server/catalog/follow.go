package catalog

import (
	"skerry.dev/skerry/server/binding"
)

// Gather finds the objects that a cohort names, among those that can be with the unit that they pass
// to.
func (c *Catalog) Gather(co *Cohort) {
	is, _ := c.Records.Index.Cohort(co.Seq)
	named := make(map[binding.ObjectID]struct{}, len(is.Members))
	for _, o := range is.Members {
		named[o] = struct{}{}
	}
	c.scope(co.Stored, func(o *Object) {
		if _, ok := named[binding.ObjectID(o.UID)]; ok {
			co.Objects[o] = struct{}{}
		}
	})
}

// GatherAll finds the objects of all cohorts.
func (c *Catalog) GatherAll() {
	named := map[string]map[binding.ObjectID][]*Cohort{}
	for _, co := range c.Records.Cohorts {
		clear(co.Objects)
		if named[co.Space] == nil {
			named[co.Space] = map[binding.ObjectID][]*Cohort{}
		}
		is, _ := c.Records.Index.Cohort(co.Seq)
		for _, o := range is.Members {
			named[co.Space][o] = append(named[co.Space][o], co)
		}
	}
	for name, of := range named {
		if sp := c.Spaces[name]; sp != nil {
			sp.EachObject(func(o *Object) {
				for _, co := range of[binding.ObjectID(o.UID)] {
					if co.scopes(o) {
						co.Objects[o] = struct{}{}
					}
				}
			})
		}
	}
}
