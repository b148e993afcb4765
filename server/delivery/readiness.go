package delivery

import (
	"fmt"
	"slices"
	"time"

	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
)

// readiness is since when the targets that replace another one have everything available without a
// break, by what moves. The goroutine that decides alone uses it. A restart forgets it,
// and then the time begins anew.
type readiness map[catalog.Ref]map[binding.TargetID]time.Time

// easedFor is for how long a target must have as much as the one that it replaces, where that is less than
// is wished: what is short for a moment on the old one is needed on the new one.
const easedFor = time.Minute

// settle holds the moves of a look back whose new target has not been ready for MinReady yet: it
// counts as not ready. It returns when that is to be looked at again, zero where nothing is held back.
func (r readiness) settle(l *look, of catalog.Ref, minReady time.Duration, now time.Time) (again time.Time) {
	since := map[binding.TargetID]time.Time{}
	for i := range l.facts.Targets {
		t := &l.facts.Targets[i]
		minReady, why := minReady, "move.minReadySeconds is"
		if e := l.eased[t.ID]; e.wait > minReady {
			minReady, why = e.wait, e.why
		}
		if t.State != binding.Ready || minReady == 0 || !replaces(l.record, t.ID) {
			continue
		}
		began, known := r[of][t.ID]
		if !known {
			began = now
		}
		since[t.ID] = began
		if until := began.Add(minReady); now.Before(until) {
			t.State = binding.Unproven
			l.notReady[t.ID] = fmt.Sprintf("it is available since %s, and %s %g",
				began.UTC().Format(time.RFC3339), why, minReady.Seconds())
			if again.IsZero() || until.Before(again) {
				again = until
			}
		}
	}
	if r[of] = since; len(since) == 0 {
		delete(r, of)
	}
	return again
}

// replaces reports whether a target stands beside the one that it is to replace.
func replaces(r binding.Record, t binding.TargetID) bool {
	for _, p := range r.Places {
		if p.Target == t && p.For != 0 && !p.Off {
			return r.Has(p.For)
		}
	}
	return false
}

// awaitReadiness lets the next step of what moves wait until its new targets have been ready for long
// enough. The group may be nil.
func (d *Delivery) awaitReadiness(r catalog.Ref, g *catalog.Group, l *look) {
	var minReady time.Duration
	waits := true
	if g != nil {
		d.catalog.RLock()
		minReady = g.MinReady(slices.ContainsFunc(l.asked, func(q question) bool { return q.served }))
		waits = g.MinReady(true) > 0 // else it is a Placement's word that it does not
		d.catalog.RUnlock()
	}
	if waits {
		d.addresses(l)
	}
	if again := d.readiness.settle(l, r, minReady, time.Now()); !again.IsZero() {
		d.catalog.Groups.AddAfter(r, time.Until(again)+time.Millisecond)
	}
}
