package binding_test

import "slices"

// decide lets the leader go on: issue a write, have it stored, get the answer, or get none. A write
// that is late may be stored just before. Sometimes the leader does several writes before anything
// else happens.
func (w *world) decide(arg int) {
	l := w.leader
	switch {
	case l.pending == nil && arg%8 == 7:
		w.goOn(8, arg/8)
	case l.pending == nil:
		l.work(arg / 8)
	case !l.pending.landed && arg%8 == 0:
		w.tale("no answer")
		l.unanswered()
	case !l.pending.landed:
		if arg%2 == 1 {
			w.landLate(arg / 8)
		}
		w.land(l.pending)
		if arg%8 > 2 {
			l.answered()
		}
	default:
		l.answered()
	}
}

// goOn lets the leader do so many writes. Just before one of them a write may be stored that is late.
func (w *world) goOn(writes, late int) {
	l := w.leader
	l.catchUp(len(w.log))
	for i := range writes {
		if l.pending == nil && !l.work(0) && l.pending == nil && l.open {
			return
		}
		if l.pending != nil {
			if i == late%16 {
				w.landLate(late / 16)
			}
			w.land(l.pending)
			l.answered()
		}
	}
}

// landLate lets a write arrive that nobody waits for any more.
func (w *world) landLate(arg int) {
	if len(w.flying) > 0 {
		i := arg % len(w.flying)
		a := w.flying[i]
		w.flying = slices.Delete(slices.Clone(w.flying), i, i+1)
		w.land(a)
	}
}

// restart ends the leader's process, with what it has in its hands. The next one is a restart with
// the same disk, or another replica.
func (w *world) restart(arg int) {
	l := w.leader
	if l.pending == nil && arg/16%2 == 0 {
		l.work(arg / 32) // it dies with a write in its hands
	}
	if l.pending != nil && arg%4 == 0 {
		l.pending = nil // it died before the write
	}
	inbox := l.inbox
	if arg/4%2 == 0 {
		inbox = nil
	}
	w.lead(inbox)
	w.tale("leader %d begins, it keeps the inbox: %v", w.leader.era, inbox != nil)
	if arg/8%2 == 0 {
		w.takeOver()
	}
}

// takeOver lets a new leader open its term before anything else happens.
func (w *world) takeOver() {
	for l := w.leader; !l.open; l.answered() {
		if l.work(0) {
			w.land(l.pending)
		}
	}
}
