package backlog

// Reason says why a ledger has ended a watch.
type Reason int

// The reasons.
const (
	// SlowReader is a reader that took nothing while its space needed more bytes than it has.
	SlowReader Reason = iota
	// IdleBuffers is a watch with nothing to send whose buffers the space needed.
	IdleBuffers
	// NoRoom is a watch that needed more although all others had been ended.
	NoRoom
	// StuckReader is a reader that took nothing for long although there was something.
	StuckReader
	// TooFarBehind is a reader that more events wait for than may.
	TooFarBehind
)

// reasons are the names of all reasons.
var reasons = [...]string{"SlowReader", "IdleBuffers", "NoRoom", "StuckReader", "TooFarBehind"}

// String returns the name of the reason, as metrics have it.
func (r Reason) String() string { return reasons[r] }

// Ended returns how many watches of all spaces were ended for each reason.
func (l *Ledger) Ended() map[Reason]uint64 {
	out := make(map[Reason]uint64, len(reasons))
	for i := range l.ended {
		out[Reason(i)] = l.ended[i].Load()
	}
	return out
}

// Len returns how many watches all spaces have open, those that are ending too.
func (l *Ledger) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, s := range l.spaces {
		s.mu.Lock()
		n += len(s.watches)
		s.mu.Unlock()
	}
	return n
}
