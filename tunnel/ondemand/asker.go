package ondemand

import "sync"

// Asker is for many that wait for the same: one of them asks for all. The zero value is ready; its methods may be
// called concurrently.
type Asker struct {
	mu    sync.Mutex
	asked chan struct{} // closed when the one that asks has an answer; nil while nobody asks
}

// Turn returns what ends the turn of the caller, which asks for all, or else what to wait for.
func (a *Asker) Turn() (end func(), asked <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.asked != nil {
		return nil, a.asked
	}
	mine := make(chan struct{})
	a.asked = mine
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.asked = nil
		close(mine)
	}, nil
}
