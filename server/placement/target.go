package placement

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

// Target is one SyncTarget as a decision sees it.
type Target struct {
	Name   string
	Labels labels.Set
	// Connected is whether its agent has a session now. A target that has none keeps what it has.
	Connected bool
	// Empty is a relay that has no site yet: what is placed there runs nowhere for now.
	Empty bool
	// Unschedulable targets, and those being deleted, get nothing new. Closed is why another target gets
	// nothing new of the unit that is decided about, empty where it may.
	Unschedulable bool
	Closed        string
	// Held targets keep the releases that they have and get no other. No filter asks for it.
	Held bool
	// Objects is how many objects are placed there.
	Objects int
	// Refuses are Pods of the unit that is decided about which the target will not take. It is no filter:
	// of targets that are otherwise equal those come first that refuse less.
	Refuses Refusal
	Departure
	Room
	// Facts are what the target says of its cluster; nil while it has said nothing.
	Facts *Facts
}

// Same reports whether two targets are the same to every filter. What orders targets that pass may
// differ: whether they are connected or empty, how many objects they have, and how much is free.
func (t Target) Same(other Target) bool {
	return t.Name == other.Name && t.Unschedulable == other.Unschedulable && maps.Equal(t.Labels, other.Labels) &&
		t.Departure.Same(other.Departure) && t.Facts.same(other.Facts)
}

// Location is a named group of targets.
type Location struct {
	Name     string
	Selector labels.Selector
}

// World is what there is to choose from.
type World struct {
	Targets   []Target
	Locations []Location
	// Offered limits the targets to those that the space may use. Nil means all.
	Offered labels.Selector
	// Halted: nothing leaves a target by itself, see Halted.
	Halted bool
	// Now is the time, for tolerations that end.
	Now time.Time
	// Needs are the resources that the objects are of, where a target may lack them.
	Needs []API
	// Self is the Placement that is decided about, and Neighbours are the others of its space. They
	// are needed only where one of them has an affinity.
	Self       Neighbour
	Neighbours []Neighbour
}

// target returns the target of a name if there is one, whether or not the space may use it.
func (w World) target(name string) (t Target, exists bool) {
	i := slices.IndexFunc(w.Targets, func(t Target) bool { return t.Name == name })
	if i < 0 {
		return Target{}, false
	}
	return w.Targets[i], true
}

// hasTarget reports whether there is a target of a name that the space may use.
func (w World) hasTarget(name string) bool {
	return slices.ContainsFunc(w.Targets, func(t Target) bool { return t.Name == name && w.offers(t) })
}

func (w World) offers(t Target) bool { return w.Offered == nil || w.Offered.Matches(t.Labels) }

func (w World) location(name string) (Location, bool) {
	for _, l := range w.Locations {
		if l.Name == name {
			return l, true
		}
	}
	return Location{}, false
}

// offersSome reports whether a Location has a target for the space. One to which all targets are
// offered knows all Locations.
func (w World) offersSome(l Location) bool {
	return w.Offered == nil ||
		slices.ContainsFunc(w.Targets, func(t Target) bool { return w.offers(t) && l.Selector.Matches(t.Labels) })
}

// Join writes a decision as the annotation skerry.dev/targets has it: names joined by commas, the
// longest there first.
func Join(targets []string) string { return strings.Join(targets, ",") }

// Some writes names for people: at most 20, and how many more there are.
func Some(names []string) string { return first(names, 20) }

// first writes the first of some names for people, and how many more there are.
func first(names []string, most int) string {
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

// Split reads a decision from an annotation. It returns nil for the short form that stands for many
// targets.
func Split(annotation string) []string {
	if annotation == "" || strings.ContainsRune(annotation, ':') {
		return nil
	}
	return strings.Split(annotation, ",")
}

// Union returns a's names in order, then b's that are not in a, by name.
func Union(a, b []string) []string {
	out := append([]string(nil), a...)
	added := without(b, a)
	sort.Strings(added)
	return append(out, added...)
}

// Same reports whether two decisions name the same targets.
func Same(a, b []string) bool {
	return len(a) == len(b) && len(without(a, b)) == 0
}

// without returns the names of a that are not in b, in a's order.
func without(a, b []string) []string {
	var out []string
	for _, n := range a {
		if !contains(b, n) {
			out = append(out, n)
		}
	}
	return out
}

func contains(list []string, name string) bool {
	for _, n := range list {
		if n == name {
			return true
		}
	}
	return false
}
