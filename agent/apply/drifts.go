package apply

import "skerry.dev/skerry/store"

// drifts are the objects of which fields are ours no longer.
type drifts struct{ *tracks }

// drift is what is known of such an object.
type drift struct {
	content uint64 // a hash of what it was then
	state   driftState
}

type driftState uint8

const (
	noDrift driftState = iota
	openDrift
	toldDrift // reported, and to be left until it changes again
)

// record records a drift. It reports false if it is known.
func (d drifts) record(k store.Key, content uint64) (news bool) {
	d.change(k, func(t *tracked) {
		if news = t.drift.state == noDrift || t.drift.content != content; news {
			t.drift = drift{content, openDrift}
		}
	})
	return news
}

// handle leaves a drift as it is until it changes. One that has changed meanwhile stays open.
func (d drifts) handle(k store.Key, content uint64) {
	d.change(k, func(t *tracked) {
		if t.drift == (drift{content, openDrift}) {
			t.drift.state = toldDrift
		}
	})
}

// close drops a drift, and reports whether there was one.
func (d drifts) close(k store.Key) (was bool) {
	d.change(k, func(t *tracked) {
		was = t.drift.state != noDrift
		t.drift = drift{}
	})
	return was
}
