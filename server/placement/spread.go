package placement

import (
	"fmt"
	"sort"
	"strings"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// quota says whether a choice may have another target of a group, so that one spread holds at the
// end. Let level be how many targets each group has at least. A group may have level+maxSkew, and so
// many places stay free as groups need to reach the level, and as there are groups still to be
// reached for minGroups. What was refused once is refused later, too, so one pass chooses.
type quota struct {
	spread  v1alpha1.Spread
	size    map[string]int // targets of a group that may be chosen
	has     map[string]int
	level   int
	most    int // of a group, 0 for no limit
	reached int // groups
	groups  int // that are to be reached
	short   int // targets that groups need to reach the level
}

// newQuotas returns a quota per spread. Eligible are those that may be chosen, current those of
// them that are in use, the longest first. At most total are chosen.
func newQuotas(spreads []v1alpha1.Spread, eligible, current []*candidate, total int) []*quota {
	out := make([]*quota, 0, len(spreads))
	for _, s := range spreads {
		q := &quota{spread: s, size: map[string]int{}}
		for _, c := range eligible {
			q.size[c.target.Labels[s.By]]++
		}
		if s.MinGroups != nil {
			q.groups = min(int(*s.MinGroups), len(q.size), total)
		}
		if s.MaxSkew != nil {
			q.settle(current, total)
		} else {
			q.begin(0)
		}
		out = append(out, q)
	}
	return out
}

// settle finds the level by which most targets are chosen, and of those the one by which most of
// the current ones stay.
func (q *quota) settle(current []*candidate, total int) {
	highest, used := 0, map[string]int{}
	if q.spread.MinGroups == nil || len(q.size) >= int(*q.spread.MinGroups) {
		highest = total / max(1, len(q.size))
		for _, n := range q.size {
			highest = min(highest, n)
		}
	}
	for _, c := range current {
		used[c.target.Labels[q.spread.By]]++
	}
	lowest := highest
	for group := range q.size {
		lowest = min(lowest, used[group])
	}
	best, bestTotal, bestStays := highest, -1, -1
	for level := highest; level >= lowest; level-- {
		q.begin(level)
		reaches := 0
		for _, n := range q.size {
			reaches += min(n, q.most)
		}
		reaches = min(reaches, total)
		stays := 0
		for _, c := range current {
			if stays < total && q.room(c.target, total-stays) {
				q.add(c.target)
				stays++
			}
		}
		if reaches > bestTotal || reaches == bestTotal && stays > bestStays {
			best, bestTotal, bestStays = level, reaches, stays
		}
	}
	q.begin(best)
}

// begin starts without any chosen target.
func (q *quota) begin(level int) {
	q.level, q.reached, q.has, q.most = level, 0, map[string]int{}, 0
	if q.spread.MaxSkew != nil {
		q.most = level + int(*q.spread.MaxSkew)
	}
	q.short = level * len(q.size)
}

// room reports whether a target may be chosen when left more may.
func (q *quota) room(t *Target, left int) bool {
	n := q.has[t.Labels[q.spread.By]]
	if q.most > 0 && n >= q.most {
		return false
	}
	short, unreached := q.short, q.groups-q.reached
	if n < q.level {
		short--
	}
	if n == 0 {
		unreached--
	}
	return short <= left-1 && unreached <= left-1
}

func (q *quota) add(t *Target) {
	group := t.Labels[q.spread.By]
	if q.has[group] < q.level {
		q.short--
	}
	if q.has[group] == 0 {
		q.reached++
	}
	q.has[group]++
}

// lacks says which spread is not fulfilled because there are too few groups, empty for none.
func lacks(quotas []*quota) string {
	for _, q := range quotas {
		if q.spread.MinGroups == nil || q.reached >= int(*q.spread.MinGroups) {
			continue
		}
		names := make([]string, 0, len(q.size))
		for group := range q.size {
			names = append(names, group)
		}
		sort.Strings(names)
		return fmt.Sprintf("spread by %s: %d of %d groups; targets that fit are in: %s; "+
			"let targets with other values of %s fit, or lower minGroups",
			q.spread.By, q.reached, *q.spread.MinGroups, strings.Join(head(names, 8), ", "), q.spread.By)
	}
	return ""
}

// head returns the first of a list, and how many more there are.
func head(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	return append(append([]string(nil), list[:n]...), fmt.Sprintf("%d more", len(list)-n))
}
