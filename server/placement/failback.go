package placement

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// failback is how something returns to a target of an earlier group than one that it is on, or of the same group
// and one that its preferences weigh more. One target is exchanged at a time.
type failback struct {
	leaves, to string
	// apart are better targets that have not been back for long enough; they are not chosen for this.
	apart []string
	// next is when the first of them has, zero if there is none.
	next time.Time
}

// failback finds the target of those chosen, the least preferred, that a better one comes for: connected
// for Wish.Failback, with room, and not to be left itself. It may be one that is in use beside it, as
// while something moves.
func (w *Wish) failback(world World, current, chosen []string, leaves map[string]LeaveReason, full map[string]Shortage,
	now time.Time) (out failback) {
	if w.Failback == 0 || w.Count == 0 || world.Halted {
		return out
	}
	e, _ := w.evaluation(&world)
	staying, others := split(e.candidates(), current)
	var worst *candidate
	for _, c := range staying {
		switch {
		case leaves[c.target.Name] != "":
		case !contains(chosen, c.target.Name):
			others = append(others, c)
		case worst == nil || worst.preferred(c):
			worst = c
		}
	}
	if worst == nil {
		return out
	}
	slices.SortStableFunc(others, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(b.score, a.score))
	})
	for _, c := range others {
		name, fits := c.target.Name, c.preferred(worst) && full[c.target.Name] == (Shortage{})
		if !fits || !c.target.Connected || c.target.Empty || leaves[name] != "" {
			continue
		}
		if at := c.target.BackSince.Add(w.Failback); at.After(now) {
			if out.apart = append(out.apart, name); out.next.IsZero() || at.Before(out.next) {
				out.next = at
			}
		} else if out.to == "" {
			out.leaves, out.to = worst.target.Name, name
		}
	}
	return out
}

// preferred reports whether a target is of an earlier group than another one, or weighs more in the same.
func (c *candidate) preferred(to *candidate) bool {
	return c.group < to.group || c.group == to.group && c.score > to.score
}

// goBack is the choice with one target exchanged for a better one, if there is one and every other
// constraint lets it.
func (v *Vacated) goBack(w Wish, world World, kept []string, reasons map[string]LeaveReason, now time.Time) {
	back := w.failback(world, kept, v.Targets, reasons, v.Full, now)
	if !back.next.IsZero() && (v.Next.IsZero() || back.next.Before(v.Next)) {
		v.Next = back.next
	}
	if back.to == "" {
		return
	}
	leaving, shut := maps.Clone(reasons), map[string]string{}
	leaving[back.leaves] = LeaveFailback
	maps.Copy(shut, roomless(v.Full))
	for _, name := range back.apart {
		shut[name] = "it is not back for long enough"
	}
	rest := slices.DeleteFunc(slices.Clone(kept), func(name string) bool { return name == back.leaves })
	choice := Choose(w, world.without(leaving, shut, true), rest)
	if !contains(choice.Targets, back.to) || len(choice.Targets) < len(v.Targets) {
		return // a spread or an affinity speaks against it
	}
	v.Choice = choice
	reasons[back.leaves] = LeaveFailback
}
