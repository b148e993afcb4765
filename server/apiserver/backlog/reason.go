package backlog

// Reason says why a ledger has ended a watch.
type Reason int

// The reasons.
const (
	// SlowReader ends a watch whose reader took nothing while its space was beyond its bytes.
	SlowReader Reason = iota
	// IdleBuffers ends a watch that has nothing to send, because its space needs the buffers.
	IdleBuffers
	// NoRoom ends a watch that needs more although all others have ended.
	NoRoom
	// StuckReader ends a watch whose reader took nothing for long although there was something.
	StuckReader
	// TooFarBehind ends a watch for whose reader too many events wait.
	TooFarBehind
)

// reasons are the names of all reasons.
var reasons = [...]string{"SlowReader", "IdleBuffers", "NoRoom", "StuckReader", "TooFarBehind"}

// String returns the name of the reason, which is its label in metrics.
func (r Reason) String() string { return reasons[r] }

// Ended returns how many watches of all spaces were ended for each reason.
func (l *Ledger) Ended() map[Reason]uint64 {
	out := make(map[Reason]uint64, len(reasons))
	for i := range l.ended {
		out[Reason(i)] = l.ended[i].Load()
	}
	return out
}

// Len returns how many watches all spaces have open, including those that are ending.
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
