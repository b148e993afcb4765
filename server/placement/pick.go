package placement

import (
	"slices"
	"sort"
)

// split returns those in use that may stay, in their order, and those that may come, the best first.
func split(all []candidate, current []string) (staying, fresh []*candidate) {
	position := make(map[string]int, len(current))
	for i, name := range current {
		position[name] = i + 1
	}
	staying = make([]*candidate, len(current))
	for i := range all {
		c := &all[i]
		at := position[c.target.Name]
		c.used = at > 0
		if c.answer == fails {
			continue
		}
		if c.used {
			staying[at-1] = c
		} else if c.answer == passes {
			fresh = append(fresh, c)
		}
	}
	staying = slices.DeleteFunc(staying, func(c *candidate) bool { return c == nil })
	sort.Slice(fresh, func(i, j int) bool { return better(fresh[i], fresh[j]) })
	return staying, fresh
}

// pick takes as many as are wished, those in use first, as far as every spread lets it. What it
// takes, it takes again when that is what is in use: a target that a spread turns away may be one
// that takes nothing new, and without it the spreads may have room for fewer.
func (w *Wish) pick(staying, fresh []*candidate) (picked []*candidate, quotas []*quota) {
	picked, quotas = w.take(w.lastGroupLast(staying), fresh)
	for _, c := range picked {
		c.chosen = true
	}
	for len(quotas) > 0 {
		again, _ := w.take(picked, others(staying, fresh))
		stays := make(map[*candidate]bool, len(again))
		for _, c := range again {
			stays[c] = true
		}
		kept := slices.DeleteFunc(slices.Clone(picked), func(c *candidate) bool { return !stays[c] })
		if len(kept) == len(picked) {
			break
		}
		for _, c := range picked {
			c.chosen = stays[c]
		}
		picked = kept
		for _, q := range quotas {
			q.begin(q.level)
			for _, c := range picked {
				q.add(c.target)
			}
		}
	}
	return picked, quotas
}

// lastGroupLast orders what is in use by group, where there is more than is wished: the first are kept.
func (w *Wish) lastGroupLast(staying []*candidate) []*candidate {
	if w.Constraints == nil || len(w.Constraints.groups) == 0 || w.Count == 0 || len(staying) <= w.Count {
		return staying
	}
	staying = slices.Clone(staying)
	slices.SortStableFunc(staying, func(a, b *candidate) int { return a.group - b.group })
	return staying
}

// others returns who could come beside those that are chosen, the best first.
func others(lists ...[]*candidate) []*candidate {
	var out []*candidate
	for _, c := range slices.Concat(lists...) {
		if c.answer == passes && !c.chosen {
			out = append(out, c)
		}
	}
	sort.Slice(out, func(i, j int) bool { return better(out[i], out[j]) })
	return out
}

// take goes through both lists once.
func (w *Wish) take(staying, fresh []*candidate) (taken []*candidate, quotas []*quota) {
	total := w.Count
	if total == 0 {
		total = len(staying) + len(fresh)
	}
	if w.Constraints != nil && len(w.Constraints.spread) > 0 {
		eligible := append(slices.Clone(staying), fresh...)
		quotas = newQuotas(w.Constraints.spread, eligible, staying, min(total, len(eligible)))
		total = min(total, len(eligible))
	}
	for _, list := range [][]*candidate{staying, fresh} {
		for _, c := range list {
			left := total - len(taken)
			if left == 0 {
				return taken, quotas
			}
			if slices.ContainsFunc(quotas, func(q *quota) bool { return !q.room(c.target, left) }) {
				continue
			}
			for _, q := range quotas {
				q.add(c.target)
			}
			taken = append(taken, c)
		}
	}
	return taken, quotas
}
