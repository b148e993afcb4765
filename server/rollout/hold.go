package rollout

import (
	"slices"
	"strings"
)

// A target that is held keeps the release that it has while all others get the goal: State.Targets names
// it with that. Once it is let go it has the default like every other.

// held are the entries of the targets that are held and have another release than the given one, which
// all others get.
func (n *next) held(release uint64) (out []Target) {
	for _, f := range n.facts.Targets {
		has := n.Of(f.UID)
		if !f.Held || has == release {
			continue
		}
		t := Target{UID: f.UID, Name: f.Name, Release: has, Since: n.facts.Now}
		if i, named := n.search(f.UID); named {
			t.Since = n.Targets[i].Since
		}
		t.Done = true // nobody waits for it
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b Target) int { return strings.Compare(a.UID, b.UID) })
	return out
}

// letGo gives the default to the targets that were held and are not any more. Of all entries those alone
// name a proven release that is neither the default nor the goal.
func (n *next) letGo() {
	if n.facts.Policy.Paused {
		return
	}
	n.Targets = slices.DeleteFunc(n.Targets, func(t Target) bool {
		r, _ := n.Release(t.Release)
		return r.Proven && t.Release != n.view.Goal && !n.facts.Targets[n.known[t.UID]].Held
	})
}
