package catalog

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/quantity"
	"skerry.dev/skerry/store"
)

// capacityDelay is how long news of what targets have are gathered before Locations are counted: of
// thousands of targets one says something all the time.
const capacityDelay = 15 * time.Second

// capacity is what a target says it has, and when it was last heard of.
type capacity struct {
	Capacity, Allocatable, Allocated corev1.ResourceList
	Seen                             time.Time
}

func readCapacity(obj map[string]any) (c capacity) {
	status := fields.Map(obj, "status")
	c.Capacity, c.Allocatable = quantities(status, "capacity"), quantities(status, "allocatable")
	c.Allocated = quantities(status, "allocated")
	c.Seen, _ = time.Parse(time.RFC3339, fields.String(status, "lastSeen"))
	return c
}

// readNodes is what the nodes of a target have for what is placed there, nil where it may get more of them.
func (c capacity) readNodes(obj map[string]any) *placement.Nodes {
	if elastic, said := fields.Map(obj, "spec")["elastic"].(bool); elastic || !said {
		return nil
	}
	return placement.NodesOf(c.Allocatable, c.Allocated, quantities(fields.Map(obj, "status"), "allocatedPlaced"))
}

func quantities(status map[string]any, field string) corev1.ResourceList {
	of := fields.Map(status, field)
	if len(of) == 0 {
		return nil
	}
	out := make(corev1.ResourceList, len(of))
	for name, v := range of {
		text, _ := v.(string)
		if q, err := quantity.Parse(text); err == nil {
			out[corev1.ResourceName(name)] = q
		}
	}
	return out
}

func (c capacity) same(o capacity) bool {
	return equality.Semantic.DeepEqual(c.Capacity, o.Capacity) &&
		equality.Semantic.DeepEqual(c.Allocatable, o.Allocatable) &&
		equality.Semantic.DeepEqual(c.Allocated, o.Allocated)
}

// Capable takes over what a target has, and has its Locations counted when that has changed. The lock
// must be held.
func (c *Catalog) Capable(t *Target, obj map[string]any) {
	now := readCapacity(obj)
	changed := !now.same(t.Has)
	t.Has, t.Nodes = now, now.readNodes(obj)
	if !changed {
		return
	}
	for name, l := range c.Locations {
		if l.Selector.Matches(t.Labels) {
			c.Status.AddAfter(locationKey(name), capacityDelay)
		}
	}
}

// Plus adds quantities to a sum, which it changes and returns. A nil sum is zero.
func Plus(sum, of corev1.ResourceList) corev1.ResourceList {
	for name, q := range of {
		if sum == nil {
			sum = corev1.ResourceList{}
		}
		have := sum[name]
		have.Add(q)
		sum[name] = have
	}
	return sum
}

// CountDelay is how long changes of targets are gathered before Locations are counted again.
const CountDelay = 500 * time.Millisecond

// CountLocations has the targets of all Locations counted again. The lock must be held.
func (c *Catalog) CountLocations() {
	for name := range c.Locations {
		c.Status.AddAfter(locationKey(name), CountDelay)
	}
}

func locationKey(name string) store.Key {
	return store.Key{Space: v1alpha1.RootSpace, Group: v1alpha1.GroupVersion.Group, Resource: "locations", Name: name}
}
