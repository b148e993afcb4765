package catalog

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/store"
)

// A door is where callers from outside come in: a Service with a node port or a load balancer, an Ingress, a route.
// They know its address, and go on using it for a while after what answers has moved to another target. So a door
// that reaches its space stays open at a target that it has left, and leads them to where that is now. As a name it
// is no place of the object: no record has it, and no move waits for it. The annotation skerry.dev/open-until says
// how long.

// KeepEntry is how long a door stays open where its Space says nothing.
const KeepEntry = time.Hour

// door is a target at which an object stays a door.
type door struct {
	until time.Time
	noted bool // the annotation says so
}

// isDoor reports whether others than Pods come in by an object and get to where it leads. The lock must be held.
func isDoor(o *Object) bool {
	if !o.Present || o.Leaving || o.Retired {
		return false
	}
	if o.Reaches {
		n := o.Namespace.Space.Reaching[o]
		return n != nil && n.Hash != (store.Hash{})
	}
	return answersElsewhere(o)
}

// KeepOpen takes over where an object is now: it stays a door where it was. The lock must be held.
func KeepOpen(c *Catalog, o *Object, next *Set) {
	for _, name := range next.List() {
		delete(c.Doors[o], name)
	}
	keep := o.Namespace.Space.KeepEntry
	if o.On != nil && keep > 0 && isDoor(o) && (next != nil || replaced(c, o)) {
		for _, name := range c.Sets.Minus(o.On, next).List() {
			if t := c.Targets[name]; t != nil && staysOpen(t) {
				open(c, o, name, door{until: time.Now().Add(keep).Truncate(time.Second)})
			}
		}
	}
	if len(c.Doors[o]) == 0 {
		delete(c.Doors, o)
	}
}

// CloseNext has an object noted anew when the next of its doors closes. The lock must be held.
func CloseNext(c *Catalog, o *Object) {
	var next time.Time
	for _, d := range c.Doors[o] {
		if d.until.After(time.Now()) && (next.IsZero() || d.until.Before(next)) {
			next = d.until
		}
	}
	if !next.IsZero() {
		c.Notes.AddAfter(o.Key(), time.Until(next)+time.Second)
	}
}

func open(c *Catalog, o *Object, target string, d door) {
	if c.Doors[o] == nil {
		c.Doors[o] = map[string]door{}
	}
	c.Doors[o][target] = d
}

// staysOpen reports whether doors stay at a target: nobody wants it to be empty.
func staysOpen(t *Target) bool { return !t.Emptied && !t.Removing && !t.Drained() }

// replaced reports whether an object, or what it leads to, has left a target for another one, and is not there yet. An
// Ingress leads to a Service, and that to what has a record: they may have none of their own yet. The lock must be
// held.
func replaced(c *Catalog, o *Object) bool {
	return replacedWithin(c, o, mostDeep)
}

func replacedWithin(c *Catalog, o *Object, deep int) bool {
	return slices.ContainsFunc(c.Records.Index.Record(c.Records.Of(o)).Places, func(p binding.Place) bool {
		return p.Leaving == binding.Replaced
	}) || deep > 0 && o.Ties != nil && slices.ContainsFunc(o.Ties.Leaders.list(), func(l *Object) bool {
		return replacedWithin(c, l, deep-1)
	})
}

// mostDeep is how many objects lead from one to a workload: a route, a Service, the workload.
const mostDeep = 2

// doorsAt is where an object that is on a set of targets is a door besides. The lock must be held.
func doorsAt(c *Catalog, o *Object, on *Set) *Set {
	all, sp := c.Doors[o], o.Namespace.Space
	if len(all) == 0 || !isDoor(o) || sp.KeepEntry == 0 || on == nil && !replaced(c, o) {
		return nil
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if t := c.Targets[name]; t != nil && staysOpen(t) && offers(sp, t.Target) && !on.Has(name) &&
			time.Now().Before(all[name].until) {
			names = append(names, name)
		}
	}
	return c.Sets.Of(names)
}

// Doors returns the targets at which an object that is on a set of targets is a door besides, and takes that over. It
// reports whether that is news. The lock must be held.
func Doors(c *Catalog, o *Object, on *Set) (at *Set, news bool) {
	if at = doorsAt(c, o, on); o.Ties == nil {
		return nil, false
	}
	news = at != o.Ties.Doors
	o.Ties.Doors = at
	return at, news
}

// doorsOf are the targets at which an object is a door without being there. The lock must be held.
func doorsOf(o *Object) *Set {
	if o.Ties == nil {
		return nil
	}
	return o.Ties.Doors
}

// OpenUntil is what the annotation of an object should say of its doors, and whether that is news. The lock must be
// held.
func OpenUntil(c *Catalog, o *Object) (text string, news bool) {
	if doors := OpenDoors(c, o); len(doors) > 0 {
		until := map[string]string{}
		for _, d := range doors {
			until[d.Target] = d.Until.Format(time.RFC3339)
		}
		written, _ := json.Marshal(until) // names and times can be written
		text = string(written)
	}
	return text, text != c.DoorsNoted[o]
}

// OpenDoors lists where an object is open besides the targets where it is, by name, and until when. The lock must be
// held.
func OpenDoors(c *Catalog, o *Object) (out []v1alpha1.ReviewedDoor) {
	for _, name := range doorsAt(c, o, o.On).List() {
		out = append(out, v1alpha1.ReviewedDoor{Target: name, Until: metav1.NewTime(c.Doors[o][name].until.UTC())})
	}
	return out
}

// OpenDoorsText says it to people, empty for none.
func OpenDoorsText(doors []v1alpha1.ReviewedDoor) string {
	var all []string
	for _, d := range doors {
		all = append(all, "at "+d.Target+" until "+d.Until.UTC().Format(time.RFC3339))
	}
	if len(all) == 0 {
		return ""
	}
	return "also open " + strings.Join(all, ", ") + " for callers from outside who know its address there; take the " +
		"annotation " + v1alpha1.AnnotationOpenUntil + " off to close it"
}

// ReadDoors takes over what the annotation of an object says: a door that it does not name any more is closed. The lock
// must be held.
func ReadDoors(c *Catalog, o *Object, text string) {
	if text == "" && c.DoorsNoted[o] == "" {
		return // nearly all objects
	}
	at := map[string]time.Time{}
	if text != "" && json.Unmarshal([]byte(text), &at) != nil {
		at = nil
	}
	if text == "" {
		delete(c.DoorsNoted, o)
	} else {
		c.DoorsNoted[o] = text
	}
	for name, d := range c.Doors[o] {
		if _, still := at[name]; d.noted && !still {
			delete(c.Doors[o], name)
		}
	}
	for name, until := range at {
		open(c, o, name, door{until, true})
	}
	if len(c.Doors[o]) == 0 {
		delete(c.Doors, o)
	}
}

// ForgetDoors is for an object that is gone. The lock must be held.
func ForgetDoors(c *Catalog, o *Object) {
	delete(c.Doors, o)
	delete(c.DoorsNoted, o)
}

// RenameDoors has doors follow the new name of a target, which their annotations do not know yet. The lock must be
// held.
func RenameDoors(c *Catalog, from, to string) {
	for _, all := range c.Doors {
		if d, has := all[from]; has {
			delete(all, from)
			all[to] = door{until: d.until}
		}
	}
}
