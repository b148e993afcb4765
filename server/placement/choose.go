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

// Wish says where something should be. The zero Wish says nothing.
type Wish struct {
	// Names of SyncTargets or Locations.
	Names []string
	// Selectors over the labels of targets; any may match.
	Selectors []labels.Selector
	// Count limits how many targets are chosen; 0 means all that match.
	Count int
	// None is the explicit wish to be nowhere: what runs is removed.
	None bool
	// Failback is how long a target that preferences weigh more must have been back before something
	// returns to it; 0 for never. It needs Count.
	Failback time.Duration
	// Constraints are what else a Placement requires; nil for nothing.
	Constraints *Constraints
}

// Nowhere reports whether nothing says where to be.
func (w Wish) Nowhere() bool { return !w.None && len(w.Names) == 0 && len(w.Selectors) == 0 }

// Choice is the answer to a Wish.
type Choice struct {
	// Targets chosen, those already in use first and in their order.
	Targets []string
	// Reason is empty when the wish is fulfilled, else a CamelCase word: NoSuchTarget, NotOffered,
	// Unschedulable, NoTargets, TooFewTargets, TooFewGroups. Message says what to do.
	Reason, Message string
	// Left are the targets in use that are not chosen any more, and why.
	Left []Verdict
	// Stays are the targets in use that are chosen although they lack something: a fact that they
	// have not reported, or an API that they do not serve.
	Stays []Verdict
	// Again is when a toleration ends by which something stays; zero for never.
	Again time.Time
}

// Verdict is what a decision says of one target.
type Verdict struct {
	Target string
	Chosen bool
	// Filter is what speaks against the target, empty for nothing. A target can be chosen all the
	// same: what only keeps new objects away does not make those leave that are there.
	Filter Filter
	// Message says for people what the filter found.
	Message string
	// Score orders targets that pass all filters, in thousandths of the weights of preferences.
	Score int64
}

// candidate is a target during a decision.
type candidate struct {
	target *Target
	answer answer
	filter Filter
	detail string
	score  int64
	group  int // see Constraints.group
	chosen bool
	used   bool // in use before
}

func (c *candidate) verdict() Verdict {
	v := Verdict{Target: c.target.Name, Chosen: c.chosen, Filter: c.filter, Score: c.score}
	if c.filter != "" {
		v.Message = message(c.filter, c.detail)
	}
	if refuses := c.target.Refuses.text(); refuses != "" && (c.filter == "" || c.filter == FilterCount) {
		v.Message = strings.TrimPrefix(v.Message+"; "+refuses, "; ")
	}
	return v
}

// Choose picks targets for a wish: it filters, scores and chooses. What is in current and still
// fits is kept, also when it is disconnected or gets nothing new; the rest is filled with targets
// that pass every filter: connected ones first, then those of the first group, then those with the highest
// score, then those that
// refuse the Pods of the fewest workloads, then those with the fewest objects, then by name.
func Choose(w Wish, world World, current []string) Choice {
	c, _ := choose(w, world, current)
	return c
}

// Explain is Choose, and tells its verdict on every target that the space may use, by name.
func Explain(w Wish, world World, current []string) (Choice, []Verdict) {
	choice, all := choose(w, world, current)
	out := make([]Verdict, 0, len(all))
	for i := range all {
		out = append(out, all[i].verdict())
	}
	slices.SortFunc(out, func(a, b Verdict) int {
		if a.Target < b.Target {
			return -1
		}
		return 1
	})
	return choice, out
}

func choose(w Wish, world World, current []string) (Choice, []candidate) {
	e, problem := w.evaluation(&world)
	all := e.candidates()
	return e.choose(all, problem, current), all
}

// choose picks some of the candidates, and marks those.
func (e *evaluation) choose(all []candidate, problem Choice, current []string) Choice {
	w := e.wish
	if w.None {
		c := Choice{}
		for i := range all {
			if all[i].filter == "" {
				all[i].filter = FilterCount
			}
			if contains(current, all[i].target.Name) {
				c.Left = append(c.Left, Verdict{Target: all[i].target.Name, Filter: FilterCount, Message: "count is 0"})
			}
		}
		return c
	}
	staying, fresh := split(all, current)
	picked, quotas := w.pick(staying, fresh)
	c := Choice{}
	if len(picked) > 0 {
		c.Targets = make([]string, 0, len(picked))
	}
	kept := 0
	for _, p := range picked {
		c.Targets = append(c.Targets, p.target.Name)
		if e.tolerated(p.target); p.used {
			kept++
		}
	}
	slices.Sort(c.Targets[kept:])
	c.Again = e.again
	for i := range all {
		one := &all[i]
		if one.chosen {
			if one.answer == keepsNew && !one.filter.usual() {
				c.Stays = append(c.Stays, one.verdict())
			}
			continue
		}
		// What only keeps new objects away is not why something in use is left.
		if one.answer != fails && (one.filter == "" || one.used) {
			one.filter, one.detail = FilterCount, ""
			if len(quotas) > 0 && (w.Count == 0 || len(picked) < w.Count || one.used) {
				one.filter = FilterSpread
			}
		}
		if one.used {
			c.Left = append(c.Left, one.verdict())
		}
	}
	w.complain(&c, problem, all, quotas)
	return c
}

// complain says in a choice what of the wish is not fulfilled.
func (w *Wish) complain(c *Choice, problem Choice, all []candidate, quotas []*quota) {
	cordoned, selected := 0, 0
	for i := range all {
		if all[i].filter == FilterUnschedulable {
			cordoned++
		}
		if all[i].filter != FilterSelected {
			selected++
		}
	}
	few := lacks(quotas)
	switch {
	case problem.Reason != "":
		c.Reason, c.Message = problem.Reason, problem.Message
	case w.Nowhere():
	case len(c.Targets) == 0 && cordoned > 0 && cordoned == selected:
		c.Reason, c.Message = "Unschedulable", fmt.Sprintf(
			"%d targets fit but are unschedulable: uncordon one",
			cordoned,
		)
	case len(c.Targets) == 0 && len(all) == 0:
		c.Reason, c.Message = "NoTargets", "this space may use no target yet: have a site join, or have the center's admin "+
			"offer one (locationSelector of the Space)"
	case len(c.Targets) == 0 && selected == 0:
		c.Reason, c.Message = "NoTargets", "no target that this space may use has the labels: join one or change the selector"
	case len(c.Targets) == 0:
		c.Reason, c.Message = "NoTargets", summary(all)
	case len(c.Targets) < w.Count:
		c.Reason, c.Message = "TooFewTargets", fmt.Sprintf("%d of %d targets found", len(c.Targets), w.Count)
		if selected > len(c.Targets) {
			c.Message += ": " + summary(all)
		} else {
			c.Message += ": have another one join, widen the selectors, or lower count"
		}
	case few != "":
		c.Reason, c.Message = "TooFewGroups", few
	}
}

// Fits returns the targets that the wish names and that pass what would make something leave,
// whether or not they may take anything new, by name.
func (w Wish) Fits(world World) []Target {
	e, _ := w.evaluation(&world)
	var out []Target
	for _, t := range fitting(e.candidates()) {
		out = append(out, *t)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// fitting are the candidates that pass what would make something leave, by name.
func fitting(all []candidate) map[string]*Target {
	out := map[string]*Target{}
	for i := range all {
		if all[i].answer != fails {
			out[all[i].target.Name] = all[i].target
		}
	}
	return out
}

// String tells the wish, so that two that say the same are equal.
func (w Wish) String() string {
	text := fmt.Sprintf("%q %q %d", w.Names, w.Selectors, w.Count)
	if w.None {
		text += " none"
	}
	if w.Constraints != nil {
		text += " " + w.Constraints.text
	}
	if w.Failback > 0 {
		text += " failback " + w.Failback.String()
	}
	return text
}

// Affects reports whether a change of one target can change a decision, or what is said of it: a
// filter answers otherwise, or the target is of another group. A score alone changes nothing that is
// decided, but where there is a Failback. The target is what it was before, and what it is now; one that
// was not, or is no more, has no name.
func (w Wish) Affects(world World, before, now Target) bool {
	e, _ := w.evaluation(&world)
	a, b := e.judged(&before), e.judged(&now)
	if w.Constraints.Related() && !maps.Equal(before.Labels, now.Labels) {
		return true
	}
	if a.answer == fails && b.answer == fails {
		return false
	}
	if a.answer != b.answer || a.filter != b.filter ||
		w.Failback > 0 && (w.Constraints.score(&before) != w.Constraints.score(&now) ||
			w.Constraints.group(&before) != w.Constraints.group(&now)) {
		return true
	}
	if w.Constraints != nil {
		for _, s := range w.Constraints.spread {
			if before.Labels[s.By] != now.Labels[s.By] {
				return true
			}
		}
	}
	return false
}

// judged is a target as a candidate; one that the space may not use fails.
func (e *evaluation) judged(t *Target) candidate {
	c := candidate{target: t, answer: fails}
	if t.Name != "" && (e.world.Offered == nil || e.world.Offered.Matches(t.Labels)) {
		c.answer = passes
		e.judge(&c)
	}
	return c
}

// evaluation resolves the names of a wish. The problem is the first name that leads nowhere.
func (w *Wish) evaluation(world *World) (e *evaluation, problem Choice) {
	e = &evaluation{wish: w, world: world, selectors: w.Selectors, around: w.surroundings(world)}
	complain := func(reason, format string, args ...any) {
		if problem.Reason == "" {
			problem.Reason, problem.Message = reason, fmt.Sprintf(format, args...)
		}
	}
	if len(w.Names) > 0 {
		e.names, e.selectors = map[string]bool{}, slices.Clone(w.Selectors)
	}
	for _, name := range w.Names {
		if world.hasTarget(name) {
			e.names[name] = true
			continue
		}
		l, ok := world.location(name)
		if ok {
			e.selectors = append(e.selectors, l.Selector)
		}
		switch {
		case ok && world.offersSome(l):
		case world.Offered == nil:
			complain("NoSuchTarget", "%q is neither a SyncTarget nor a Location; correct the name, or have a site "+
				"join by it", name)
		default: // whether others have it is not this space's to know
			complain("NoSuchTarget", "this space has no SyncTarget and no Location %q; correct the name, or have the center's "+
				"admin offer it (locationSelector of the Space)", name)
		}
	}
	return e, problem
}

// NoSuchTarget says which of some names the space has no target by, which of some selectors select none, and which
// it has; empty where all lead somewhere.
func (w World) NoSuchTarget(names []string, selectors []labels.Selector) string {
	wish := Wish{Names: names}
	_, problem := wish.evaluation(&w)
	text := problem.Message
	var has []string
	for _, s := range selectors {
		if slices.ContainsFunc(w.Targets, func(t Target) bool { return w.offers(t) && s.Matches(t.Labels) }) {
			continue
		}
		if text != "" {
			text += "; "
		}
		if s.Empty() {
			text += "this space may use no SyncTarget yet; have a site join, or have the center's admin offer one"
			continue
		}
		text += fmt.Sprintf("no SyncTarget has the labels %q; correct them, or have the center's admin label one", s)
	}
	for _, t := range w.Targets {
		if w.offers(t) {
			has = append(has, t.Name)
		}
	}
	if slices.Sort(has); text != "" && len(has) > 0 {
		text += "; there is " + Some(has)
	}
	return text
}

// candidates judges every target that the space may use.
func (e *evaluation) candidates() []candidate {
	all := make([]candidate, 0, len(e.world.Targets))
	for i := range e.world.Targets {
		t := &e.world.Targets[i]
		if e.world.Offered != nil && !e.world.Offered.Matches(t.Labels) {
			continue
		}
		all = append(all, candidate{target: t})
		c := &all[len(all)-1]
		if e.judge(c); c.answer != fails {
			c.score, c.group = e.wish.Constraints.score(t), e.wish.Constraints.group(t)
		}
	}
	return all
}
