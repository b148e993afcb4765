package binding_test

import (
	"slices"

	. "skerry.dev/skerry/server/binding"
)

// runsOn checks that what must run to its end is not taken away where it has begun: only a user's word,
// or what must leave now, ends it. On a target that is away nothing runs any more when its lease has ended.
func (c *checker) runsOn(e event, i int, removed uint64, by *attempt, r Ref, says string) {
	t := &e.things[i]
	if !t.runs || t.ended {
		return
	}
	for id, s := range c.w.sites {
		begun := s.has[i].uid == t.uid && !s.has[i].ended
		if removed&(1<<id) == 0 || !begun || by.dead&(1<<id) != 0 {
			continue
		}
		if row := by.view.target(id); row == nil || row.leave == Evict {
			continue
		}
		unit := r.Unit
		if co, ok := c.x.Cohort(r.Cohort); ok {
			unit = co.To
		}
		if known := by.view.thing(t.uid); known == nil || by.view.wishOf(unit).kind == nowhere ||
			by.view.wishOf(by.view.wished(known)).kind == nowhere || e.wishOf(unit).kind == nowhere {
			continue
		}
		breaks(propBegun, "%s by %s: it has begun on %d", says, by.what, id)
	}
}

// endAll ends what runs to its end, so that all can come to rest.
func (w *world) endAll() {
	for _, s := range w.sites {
		for i := range s.has {
			if t := w.head().thing(s.has[i].uid); t != nil && t.runs {
				w.finish(s, i)
			}
		}
	}
}

// begun reports whether something of a record may have begun on a target that must run to its end there:
// the target says so, or has said nothing since it got it.
func (l *leader) begun(r Record, reported Ref, t TargetID, members []*thingRow) bool {
	says := reports{l, reported, members}
	return r.Has(t) && slices.ContainsFunc(members, func(m *thingRow) bool {
		i := slices.IndexFunc(l.view().things[:], func(o thingRow) bool { return o.uid == m.uid })
		c := l.inbox[t].has[i]
		return m.runs && (!says.Counts(t) || c.uid != m.uid || !c.ended)
	})
}
