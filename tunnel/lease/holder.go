package lease

import "time"

// State is what a child has to know of its lease after a restart.
type State struct {
	// Terms bind the child since the parent's last answer.
	Terms Terms `json:"terms,omitzero"`
	// Boot names the boot of the machine that Until is counted in, see boottime.ID.
	Boot string `json:"boot,omitempty"`
	// Until is when the lease ends, by boottime.Now.
	Until time.Duration `json:"until,omitempty"`
	// Ended: the lease has ended, and the parent has not said since that nothing is lacking.
	Ended bool `json:"ended,omitempty"`
}

// Holder is a child's lease. Times are readings of boottime.Now. It is not safe for concurrent use.
type Holder struct {
	state    State
	sent     map[int64]time.Duration // the requests of the session that are not answered, and when they were sent
	n        int64
	answered int64
	// follows: since the lease has ended the parent has said that nothing is lacking.
	follows bool
}

// maxSent is how many requests wait for their answers: older ones are not worth one any more.
const maxSent = 8

// Load goes on with a state that an earlier process, or an earlier boot, has stored. A boot that is
// not proven to be the same one ends a lease: nobody knows how long the machine was off.
func Load(s State, boot string) *Holder {
	if s.Terms.Fences() && (boot == "" || s.Boot != boot) {
		s.Ended = true
	}
	s.Boot = boot
	return &Holder{state: s, sent: map[int64]time.Duration{}}
}

// State returns what is to be stored.
func (h *Holder) State() State { return h.state }

// Begin begins a session. Answers of the one before mean nothing any more.
func (h *Holder) Begin() {
	clear(h.sent)
	h.n, h.answered = 0, 0
}

// Request returns what to send now. Has must be durable.
func (h *Holder) Request(now time.Duration, refuses bool) Request {
	h.n++
	h.sent[h.n] = now
	delete(h.sent, h.n-maxSent)
	return Request{N: h.n, Answered: h.answered, Has: h.state.Terms, Refuses: refuses, Ended: h.Ended(now)}
}

// Answered takes an answer that has come now. It counts from when the request was sent. The state
// is to be stored before the next Request.
func (h *Holder) Answered(now time.Duration, a Answer) {
	at, ok := h.sent[a.N]
	if !ok {
		return
	}
	for n := range h.sent {
		if n <= a.N {
			delete(h.sent, n)
		}
	}
	h.state.Ended = h.Ended(now)
	h.answered, h.state.Terms = a.N, a.Terms
	if a.For > 0 {
		// A shorter lease counts at once, a longer one never takes back what an answer has promised.
		h.state.Until = at + a.For - Terms{Duration: a.For}.ahead()
	}
	h.follows = !a.Behind && a.For > 0 || !a.Behind && a.Terms.Duration == 0
	h.Check(now)
}

// Ended reports whether what must not run twice must not run now.
func (h *Holder) Ended(now time.Duration) bool { return h.state.HasEnded(now) }

// HasEnded reports whether what must not run twice must not run now, in the boot of the state.
func (s State) HasEnded(now time.Duration) bool { return s.Ended || s.over(now) }

func (s State) over(now time.Duration) bool { return s.Terms.Fences() && now >= s.Until }

// Check looks at the clock: a lease that is over has ended, and one that has ended begins again once
// the parent has renewed it and nothing is lacking. It reports whether that has changed.
func (h *Holder) Check(now time.Duration) (changed bool) {
	before := h.state.Ended
	switch {
	case h.state.over(now):
		h.state.Ended, h.follows = true, false
	case h.state.Ended && h.follows:
		h.state.Ended = false
	}
	return h.state.Ended != before
}

// Own returns what binds the parent's half of a relay that has this state.
func (s State) Own(now time.Duration) Own {
	own := Own{Bound: s.Terms.Fences(), Terms: s.Terms}
	if !s.HasEnded(now) {
		own.Left = s.Until - now
	}
	return own
}

// Next returns how long it is until Check has to look again at the latest, and false if nothing ends
// by itself.
func (h *Holder) Next(now time.Duration) (time.Duration, bool) {
	if h.state.Ended || !h.state.Terms.Fences() {
		return 0, false
	}
	return h.state.Until - now, true
}
