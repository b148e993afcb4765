package lease

import "time"

// Record is what a parent has stored of what it may have promised to a child: status.lease of its
// SyncTarget. Duration is the longest that the child may have. Stop is true once the child has
// confirmed that it is bound to stop, and until it may have been told that it is not.
type Record = Terms

// Own is what binds a parent that is a child itself, a relay. The zero value binds nothing.
type Own struct {
	// Bound: the relay has promised to stop what is below it when its own lease ends.
	Bound bool
	// Terms are those of its own lease. Left is how long that lasts; 0 or less if it has ended.
	Terms Terms
	Left  time.Duration
}

// Granter answers the requests of one child. It is not safe for concurrent use.
type Granter struct {
	terms    Terms // of the last answers
	since    int64 // the first of the answers of the session that had these terms; 0 if there is none
	intended Record
	intends  bool
}

// Begin begins a session: its requests count from 1 again.
func (g *Granter) Begin() { g.since = 0 }

// Answer returns what may be said to a request when an admin wants other terms, and what has been
// recorded. own is what the parent itself is bound by.
func (g *Granter) Answer(r Request, want Terms, recorded Record, own Own) Answer {
	terms := g.permitted(asked(r, want, own), recorded)
	if g.since == 0 || terms != g.terms {
		g.terms, g.since = terms, r.N
	}
	a := Answer{N: r.N, Terms: terms, For: terms.Duration}
	if own.Bound {
		a.For = min(a.For, own.Left)
	}
	return a
}

// asked are the terms that a child is to have: those that are wanted, without what its site refuses.
// A relay that has promised to stop lets nothing off below it before it is let off itself; until then
// it tells its parent that it refuses.
func asked(r Request, want Terms, own Own) Terms {
	if own.Bound {
		return own.Terms
	}
	if want.Duration == 0 {
		return Terms{}
	}
	want.Stop = want.Stop && !r.Refuses
	return want
}

// permitted are the terms that may be promised: those that are wanted if what is recorded covers
// them, else those that are recorded.
func (g *Granter) permitted(want Terms, recorded Record) Terms {
	if g.intends {
		recorded.Duration = min(recorded.Duration, g.intended.Duration)
		recorded.Stop = recorded.Stop || g.intended.Stop
	}
	if recorded.Stop && !want.Fences() {
		return recorded
	}
	if want.Duration = min(want.Duration, recorded.Duration); want.Duration == 0 {
		return Terms{}
	}
	return want
}

// Record returns what is to be recorded next, after a request. A longer duration, and the end of a
// promise to stop, are recorded before they are promised; a shorter one, and a promise to stop, when
// the child has confirmed them.
func (g *Granter) Record(r Request, want Terms, recorded Record, own Own) Record {
	want = asked(r, want, own)
	next := recorded
	confirmed := g.since > 0 && !r.Pending && g.terms == want && r.Answered >= g.since && r.Has == want
	switch {
	case want.Duration > recorded.Duration, confirmed:
		next.Duration = want.Duration
	}
	switch {
	case !want.Stop, r.Pending:
		next.Stop = false
	case confirmed:
		next.Stop = true
	}
	g.intended, g.intends = next, true
	return next
}

// Ledger is when a parent has answered its children the last time. It is not safe for concurrent
// use.
type Ledger struct {
	begun    time.Duration
	answered map[string]time.Duration
}

// NewLedger returns the ledger of a parent that leads since begun: another one may have answered
// until then.
func NewLedger(begun time.Duration) *Ledger {
	return &Ledger{begun: begun, answered: map[string]time.Duration{}}
}

// Answered notes that a child was answered, before the answer is sent.
func (l *Ledger) Answered(child string, now time.Duration) { l.answered[child] = now }

// Forget drops a child that is gone.
func (l *Ledger) Forget(child string) { delete(l.answered, child) }

// Rename gives a child another name.
func (l *Ledger) Rename(from, to string) {
	if at, ok := l.answered[from]; ok {
		l.answered[to] = at
		delete(l.answered, from)
	}
}

// Drift is what two clocks may differ in, of 100, and Slack what else may be late.
const (
	Drift = 1
	Slack = 2 * time.Second
)

// Ends is when nothing of what must not run twice runs at a child any more, given that it has not
// been answered since: the lease as the parent counts it, and grace, what it takes to stop.
func (l *Ledger) Ends(child string, recorded Record, grace time.Duration) time.Duration {
	from, ok := l.answered[child]
	if !ok || from < l.begun {
		from = l.begun
	}
	return from + recorded.Duration + recorded.Duration*Drift/100 + Slack + grace
}
