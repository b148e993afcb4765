package catalog

import (
	"slices"
	"strconv"
	"strings"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// staying says which followers of an object are not wherever it is, empty for none. The lock must be held.
func (c *Catalog) staying(o *Object) string {
	if o.Ties == nil || !o.Ties.told.leads {
		return ""
	}
	var parts []string
	say := func(followers objects) {
		for f := range followers.all() {
			if f.Ties.alone && !f.Leaving && !answersElsewhere(f) && c.Sets.Minus(o.Ties.told.on, c.placed(f)) != nil {
				parts = append(parts, f.title()+" "+c.stays(f))
			}
		}
	}
	say(o.Ties.Followers)
	if o.Ties.runs {
		say(o.Namespace.followers.whole.alone)
	}
	return staysText(parts)
}

// stays says where a follower is, and by whose word.
func (c *Catalog) stays(f *Object) string {
	at, by := "nowhere", "its label "+v1alpha1.LabelTarget
	if on := c.where(f).List(); len(on) > 0 {
		at = "on " + placement.Some(on)
	}
	if f.Source.Kind == OfPlacement {
		by = "Placement " + f.Source.Book.Name + ", which lists its kind"
	}
	return "is " + at + " by " + by
}

func staysText(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	return "what selects or names it does not go along: " + shortList(parts)
}

// shortList names five, and how many more there are.
func shortList(parts []string) string {
	const most = 5
	slices.Sort(parts)
	parts = slices.Compact(parts)
	if more := len(parts) - most; more > 0 {
		parts = append(parts[:most:most], strconv.Itoa(more)+" more")
	}
	return strings.Join(parts, "; ")
}

// Parts warns of a label that an object is about to be given: it says what does not go along with the object,
// or what the object no longer goes along with. It is empty where they stay together. It takes the lock.
func (c *Catalog) Parts(k store.Key, label string, content map[string]any) string {
	c.Lock() // targets are interned
	defer c.Unlock()
	kind, sp := c.Kinds[[2]string{k.Group, k.Resource}], c.Spaces[k.Space]
	if kind == nil || sp == nil || sp.Namespaces[k.Namespace] == nil {
		return ""
	}
	n := sp.Namespaces[k.Namespace]
	if f := placement.FollowerOf(k, content); f != nil {
		if answersFrom(c, n, f, placement.ReachOf(k, content)) {
			return ""
		}
		return c.partsFrom(n, f, label)
	}
	var parts []string
	visit := func(f *Object) {
		if f.Ties.alone && !f.Leaving && !answersElsewhere(f) && f.Wish() != label {
			parts = append(parts, f.title()+" "+c.stays(f))
		}
	}
	if pods, runs := placement.PodLabels(k, content); runs {
		n.followers.ofPods(LabelsOf(pods), visit)
		for f := range n.followers.whole.alone.all() {
			visit(f)
		}
	}
	n.followers.ofName(kind, k.Name, visit)
	return staysText(parts)
}

// partsFrom says which leaders a follower leaves by a label of its own.
func (c *Catalog) partsFrom(n *Namespace, f *placement.Follower, label string) string {
	var parts []string
	c.leaders(n, f, func(l *Object) {
		if on := c.where(l).List(); l.Wish() != label && len(on) > 0 && !slices.Equal(on, []string{label}) {
			parts = append(parts, l.Kind.Resource+"/"+l.Name+" is on "+placement.Some(on))
		}
	})
	if len(parts) == 0 {
		return ""
	}
	return "with its own label it does not go along any more with what it selects or names: " + shortList(parts)
}
