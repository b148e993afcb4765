package delivery

import (
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/store"
)

// runningOn are the objects that must not run twice and would run on at a target that is left, beside the ones that
// begin on another one: who decides about them lets go of what leaves. Where nothing comes in their place they are
// let go.
func (l *look) runningOn(t binding.TargetID) (on []store.Key) {
	if l.facts.Wish != binding.Somewhere || !l.mayRunAt(t) {
		return nil
	}
	for _, q := range l.asked {
		if q.runsOn && !q.named.Has(l.names[t]) {
			on = append(on, q.key)
		}
	}
	return on
}
