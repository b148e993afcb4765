package placement

import (
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
)

// Target is one SyncTarget as a decision sees it.
type Target struct {
	Name   string
	Labels labels.Set
	// Connected is whether its agent has a session now. A target that has none keeps what it has.
	Connected bool
	// Unschedulable targets, and those being deleted, get nothing new.
	Unschedulable bool
	// Objects is how many objects are placed there.
	Objects int
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
}

// offered returns the target of a name if there is one, and whether the space may use it.
func (w World) target(name string) (t Target, exists, offered bool) {
	for _, t := range w.Targets {
		if t.Name == name {
			return t, true, w.Offered == nil || w.Offered.Matches(t.Labels)
		}
	}
	return Target{}, false, false
}

func (w World) location(name string) (Location, bool) {
	for _, l := range w.Locations {
		if l.Name == name {
			return l, true
		}
	}
	return Location{}, false
}

// Join writes a decision as the annotation skerry.dev/targets has it: names joined by commas, the
// longest there first.
func Join(targets []string) string { return strings.Join(targets, ",") }

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
