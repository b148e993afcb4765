package placement

import (
	"fmt"
	"sort"

	"k8s.io/apimachinery/pkg/labels"
)

// Wish says where something should be. The zero Wish is nowhere.
type Wish struct {
	// Names of SyncTargets or Locations.
	Names []string
	// Selectors over the labels of targets; any may match.
	Selectors []labels.Selector
	// Count limits how many targets are chosen; 0 means all that match.
	Count int
}

// Nowhere reports whether the wish is to be on no target at all.
func (w Wish) Nowhere() bool { return len(w.Names) == 0 && len(w.Selectors) == 0 }

// Choice is the answer to a Wish.
type Choice struct {
	// Targets chosen, those already in use first and in their order.
	Targets []string
	// Reason is empty when the wish is fulfilled, else a CamelCase word: NoSuchTarget, NotOffered,
	// Unschedulable, NoTargets, TooFewTargets. Message says what to do.
	Reason, Message string
}

// Choose picks targets for a wish. What is in current and still fits is kept, also when it is
// disconnected or unschedulable; the rest is filled with schedulable targets: connected ones first,
// then those with the fewest objects, then by name.
func Choose(w Wish, world World, current []string) Choice {
	fits, problem := w.fitting(world)
	var out []string
	for _, name := range current {
		if _, ok := fits[name]; ok && (w.Count == 0 || len(out) < w.Count) {
			out = append(out, name)
		}
	}
	var fresh []Target
	cordoned := 0
	for name, t := range fits {
		switch {
		case contains(out, name):
		case t.Unschedulable:
			cordoned++
		default:
			fresh = append(fresh, t)
		}
	}
	sort.Slice(fresh, func(i, j int) bool { return better(fresh[i], fresh[j]) })
	if w.Count > 0 && len(fresh) > w.Count-len(out) {
		fresh = fresh[:w.Count-len(out)]
	}
	names := make([]string, 0, len(fresh))
	for _, t := range fresh {
		names = append(names, t.Name)
	}
	c := Choice{Targets: Union(out, names)}
	switch {
	case problem.Reason != "":
		c.Reason, c.Message = problem.Reason, problem.Message
	case w.Nowhere():
	case len(c.Targets) == 0 && cordoned > 0:
		c.Reason, c.Message = "Unschedulable", fmt.Sprintf(
			"%d targets fit but are unschedulable: uncordon one",
			cordoned,
		)
	case len(c.Targets) == 0:
		c.Reason, c.Message = "NoTargets", "no target that this space may use has the labels: join one or change the selector"
	case len(c.Targets) < w.Count:
		c.Reason, c.Message = "TooFewTargets", fmt.Sprintf("%d of %d targets found", len(c.Targets), w.Count)
	}
	return c
}

// Fits returns the targets that the wish names, whether or not they may take anything new, by name.
func (w Wish) Fits(world World) []Target {
	fits, _ := w.fitting(world)
	out := make([]Target, 0, len(fits))
	for _, t := range fits {
		out = append(out, t)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// String tells the wish, so that two that say the same are equal.
func (w Wish) String() string {
	return fmt.Sprintf("%q %q %d", w.Names, w.Selectors, w.Count)
}

func better(a, b Target) bool {
	if a.Connected != b.Connected {
		return a.Connected
	}
	if a.Objects != b.Objects {
		return a.Objects < b.Objects
	}
	return a.Name < b.Name
}

// fitting returns the targets that the wish names, whether or not they may take anything new, and
// the first name that leads nowhere.
func (w Wish) fitting(world World) (map[string]Target, Choice) {
	fits, problem := map[string]Target{}, Choice{}
	complain := func(reason, format string, args ...any) {
		if problem.Reason == "" {
			problem.Reason, problem.Message = reason, fmt.Sprintf(format, args...)
		}
	}
	selectors := append([]labels.Selector(nil), w.Selectors...)
	for _, name := range w.Names {
		if t, exists, offered := world.target(name); exists {
			if !offered {
				complain(
					"NotOffered",
					"target %q is not offered to this space, see locationSelector of the Space",
					name,
				)
				continue
			}
			fits[name] = t
		} else if l, ok := world.location(name); ok {
			selectors = append(selectors, l.Selector)
		} else {
			complain("NoSuchTarget", "%q is neither a SyncTarget nor a Location", name)
		}
	}
	for _, t := range world.Targets {
		if world.Offered != nil && !world.Offered.Matches(t.Labels) {
			continue
		}
		for _, s := range selectors {
			if s.Matches(t.Labels) {
				fits[t.Name] = t
				break
			}
		}
	}
	return fits, problem
}
