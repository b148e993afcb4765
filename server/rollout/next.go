package rollout

import (
	"cmp"
	"slices"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// Facts are what Next is told. Times are in Unix seconds.
type Facts struct {
	Now    int64
	Policy *Policy
	// Targets are all targets of the unit.
	Targets []Fact
}

// Fact is what is known of one target.
type Fact struct {
	// UID and Name of the SyncTarget, and the value that it has of the label of groups.
	UID, Name, Group string
	// Held: it takes no other release, because an admin or the site itself says so.
	Held bool
	// Online: it is connected, since a time.
	Online      bool
	OnlineSince int64
	// Well: everything of the release that it shall have is applied and available, since a time.
	Well      bool
	WellSince int64
}

// Phase says in a word how far a rollout is.
type Phase string

// The phases.
const (
	Complete           Phase = "Complete"
	RollingOut         Phase = "RollingOut"
	Paused             Phase = "Paused"
	Failed             Phase = "Failed"
	WaitingForApproval Phase = "WaitingForApproval"
	// Undone: a user has taken the newest release back. RolledBack: too many targets have failed with it.
	Undone     Phase = "Undone"
	RolledBack Phase = "RolledBack"
)

// View is what people are told about a state.
type View struct {
	Goal  uint64
	Phase Phase
	// Group has its turn, or waits for approval.
	Group string
	// Updated, Done, Failed and Skipped are names of targets, in order; Held are those of Skipped that
	// take no other release.
	Updated, Done, Failed, Skipped, Held []string
	// Wake is when Next has to be called again though no fact changes; 0 is never.
	Wake int64
}

// Next is the next state of the rollouts of a unit. The state must not be empty.
func Next(s State, f Facts) (State, View) {
	n := &next{State: s, facts: f, known: map[string]int{}}
	n.Releases, n.Targets = slices.Clone(s.Releases), slices.Clone(s.Targets)
	for i, t := range f.Targets {
		n.known[t.UID] = i
	}
	n.Targets = slices.DeleteFunc(n.Targets, func(t Target) bool { _, ok := n.known[t.UID]; return !ok })
	n.aim()
	n.letGo()
	if !n.settled() {
		n.watch()
		n.roll()
	}
	n.count()
	return n.State, n.view
}

// next is a state in the making.
type next struct {
	State
	facts Facts
	known map[string]int // UIDs to facts
	view  View
}

// aim finds the goal.
func (n *next) aim() {
	newest := n.Newest()
	n.view.Goal = newest.Number
	switch undo := n.facts.Policy.Undo; {
	case newest.RolledBack:
		n.view.Goal, n.view.Phase = n.Default, RolledBack
	case undo.Release == int64(newest.Number):
		n.view.Goal, n.view.Phase = n.before(uint64(undo.To)), Undone
	}
}

// before is the proven release that a user goes back to; without one the default.
func (n *next) before(to uint64) uint64 {
	newest := n.Newest().Number
	if r, ok := n.Release(to); ok && r.Proven && to != newest {
		return to
	}
	if n.Default != newest {
		return n.Default
	}
	for _, r := range slices.Backward(n.Releases) {
		if r.Proven && r.Number != newest {
			return r.Number
		}
	}
	return n.Default
}

// settled gives all targets a goal that is proven, and reports whether it is.
func (n *next) settled() bool {
	goal, _ := n.Release(n.view.Goal)
	if !goal.Proven {
		return false
	}
	held := n.held(goal.Number)
	if n.facts.Policy.Paused && (n.Default != goal.Number || !slices.Equal(n.Targets, held)) {
		n.view.Phase = Paused
		return true
	}
	n.Default, n.Targets = goal.Number, held
	n.view.Phase = cmp.Or(n.view.Phase, Complete)
	return true
}

// watch finds out which of the targets that have the goal are done, or have failed.
func (n *next) watch() {
	p := n.facts.Policy
	for i := range n.Targets {
		t := &n.Targets[i]
		if t.Release != n.view.Goal || t.Done {
			continue
		}
		is := n.facts.Targets[n.known[t.UID]]
		if is.Online && is.Well {
			if at := is.WellSince + p.MinSuccess; n.facts.Now < at {
				n.wake(at)
			} else {
				t.Done, t.Failed = true, false
				continue
			}
		}
		since, waits := t.Since, p.Offline == v1alpha1.OfflineWait
		if waits {
			since = max(since, is.OnlineSince)
		}
		switch at := since + p.Deadline; {
		case t.Failed || waits && !is.Online:
		case n.facts.Now >= at:
			t.Failed = true
		default:
			n.wake(at)
		}
	}
}

func (n *next) wake(at int64) {
	if n.view.Wake == 0 || at < n.view.Wake {
		n.view.Wake = at
	}
}

// roll gives the goal to further targets, and proves it when nobody is waited for.
func (n *next) roll() {
	goal, p := n.view.Goal, n.facts.Policy
	n.view.Phase = RollingOut
	failed, getting, done := 0, 0, 0
	for _, t := range n.Targets {
		switch {
		case t.Release != goal:
		case t.Done:
			done++
		case t.Failed:
			failed++
		default:
			getting++
		}
	}
	room := p.concurrency(len(n.facts.Targets)) - getting
	for i, g := range n.groups() {
		waited, candidates := n.sort(g.targets)
		if p.Offline == v1alpha1.OfflineCountAsFailed {
			candidates = slices.DeleteFunc(candidates, func(f Fact) bool { return !f.Online })
			failed += g.away
		}
		if failed > p.MaxFailures {
			n.view.Group = cmp.Or(n.reached(), g.name)
			n.fail()
			return
		}
		if waited+len(candidates) == 0 {
			continue
		}
		switch n.view.Group = g.name; {
		case p.Paused:
			n.view.Phase = Paused
		case len(candidates) > 0 && !p.approves(g.name, goal, i == 0):
			n.view.Phase = WaitingForApproval
		default:
			for _, f := range candidates[:max(0, min(room, len(candidates)))] {
				n.give(f.UID)
			}
		}
		return
	}
	switch {
	case p.Paused:
		n.view.Phase = Paused
	case done > 0:
		n.Releases[n.find(goal)].Proven = true
		n.Targets = n.held(goal)
		n.Default, n.view.Phase, n.view.Wake = goal, Complete, 0
	}
}

// reached is the last group that has a target with the goal.
func (n *next) reached() (name string) {
	for _, g := range n.groups() {
		for _, f := range g.targets {
			if n.Of(f.UID) == n.view.Goal {
				name = g.name
			}
		}
	}
	return name
}

// fail does what the policy says when too many targets have failed.
func (n *next) fail() {
	if n.view.Phase = Failed; !n.facts.Policy.RollsBack || n.facts.Policy.Paused {
		return
	}
	n.Releases[n.find(n.view.Goal)].RolledBack = true
	n.Targets, n.view.Wake = n.held(n.Default), 0
	n.view.Goal, n.view.Phase = n.Default, RolledBack
}

// give gives the goal to a target.
func (n *next) give(uid string) {
	t := Target{UID: uid, Name: n.facts.Targets[n.known[uid]].Name, Release: n.view.Goal, Since: n.facts.Now}
	i, has := n.search(uid)
	if has {
		n.Targets[i] = t
	} else {
		n.Targets = slices.Insert(n.Targets, i, t)
	}
}

// group are the targets that have their turn together, and how many of them that do not have the goal are
// away.
type group struct {
	name    string
	targets []Fact
	away    int
}

// groups are all groups in the order of their turns.
func (n *next) groups() (out []group) {
	p, goal := n.facts.Policy, n.view.Goal
	byName := map[string]*group{}
	for _, f := range n.facts.Targets {
		g := byName[f.Group]
		if g == nil {
			g = &group{name: f.Group}
			byName[f.Group] = g
		}
		g.targets = append(g.targets, f)
		if !f.Online && !f.Held && n.Of(f.UID) != goal {
			g.away++
		}
	}
	for _, g := range byName {
		out = append(out, *g)
	}
	turn := func(name string) int {
		if i := slices.Index(p.Groups, name); i >= 0 {
			return i
		}
		if name == "" {
			return len(p.Groups) + 1
		}
		return len(p.Groups)
	}
	slices.SortFunc(out, func(a, b group) int {
		return cmp.Or(cmp.Compare(turn(a.name), turn(b.name)), cmp.Compare(a.name, b.name))
	})
	return out
}

// sort counts the targets of a group that have the goal and are waited for, and lists those that are to get
// it: first those whose release is not proven either.
func (n *next) sort(targets []Fact) (waited int, candidates []Fact) {
	for _, f := range targets {
		i, has := n.search(f.UID)
		switch {
		case has && n.Targets[i].Release == n.view.Goal:
			if t := n.Targets[i]; !t.Done && !t.Failed {
				waited++
			}
		case f.Held, !f.Online && n.facts.Policy.Offline == v1alpha1.OfflineSkip:
		default:
			candidates = append(candidates, f)
		}
	}
	proven := func(f Fact) int {
		if n.Of(f.UID) == n.Default {
			return 1
		}
		return 0
	}
	slices.SortFunc(candidates, func(a, b Fact) int {
		return cmp.Or(cmp.Compare(proven(a), proven(b)), cmp.Compare(a.Name, b.Name))
	})
	return waited, candidates
}

// count fills in the names of the view.
func (n *next) count() {
	v := &n.view
	for _, f := range n.facts.Targets {
		i, named := n.search(f.UID)
		switch has := n.Of(f.UID) == v.Goal; {
		case has:
			v.Updated = append(v.Updated, f.Name)
			if !named || n.Targets[i].Done {
				v.Done = append(v.Done, f.Name)
			} else if n.Targets[i].Failed {
				v.Failed = append(v.Failed, f.Name)
			}
		case f.Held:
			v.Skipped, v.Held = append(v.Skipped, f.Name), append(v.Held, f.Name)
		case f.Online || n.facts.Policy.Offline == v1alpha1.OfflineWait:
		case n.facts.Policy.Offline == v1alpha1.OfflineSkip:
			v.Skipped = append(v.Skipped, f.Name)
		default:
			v.Failed = append(v.Failed, f.Name)
		}
	}
	for _, names := range [][]string{v.Updated, v.Done, v.Failed, v.Skipped, v.Held} {
		slices.Sort(names)
	}
}
