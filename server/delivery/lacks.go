package delivery

import (
	"slices"

	"skerry.dev/skerry/server/binding"
)

// onlyAt are the questions about what is to be on a target.
func (l *look) onlyAt(t binding.TargetID) []question {
	lacks := func(q question) bool { return l.lacks(t, q) }
	if !slices.ContainsFunc(l.asked, lacks) {
		return l.asked
	}
	return slices.DeleteFunc(slices.Clone(l.asked), lacks)
}

// lacks reports whether an object is not to be on a target of the record.
func (l *look) lacks(t binding.TargetID, q question) bool {
	return q.single && !l.has(t) || q.last && slices.Contains(l.beside, t)
}

// awaited reports whether a target that was left counts as left only when an object is gone there.
func (l *look) awaited(t binding.TargetID, q question) bool {
	return q.last || !slices.Contains(l.handsOver, t)
}

// neededAt reports whether an object stays on a target that was left, for the sake of others there. It is not waited
// for. A claim is: its volume may be what comes along.
func (l *look) neededAt(t binding.TargetID, q question) bool {
	_, off := l.confirms[t]
	return off && !q.claim && q.feeds.Has(l.names[t])
}

func (l *look) has(t binding.TargetID) bool { _, ok := l.sole[t]; return ok }
