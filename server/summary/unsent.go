package summary

import (
	"sync"

	"skerry.dev/skerry/store"
)

// unsent is what the center itself does not send, and why.
type unsent struct {
	mu  sync.Mutex
	why map[store.Key]store.ReportError
}

func (u *unsent) of(k store.Key) (store.ReportError, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	why, ok := u.why[k]
	return why, ok
}

// Refuse says of a placed object that the center does not send it, as if its targets refused it;
// nil takes that back. It does not block.
func (s *Summary) Refuse(k store.Key, why *store.ReportError) {
	s.unsent.mu.Lock()
	if delete(s.unsent.why, k); why != nil {
		s.unsent.why[k] = *why
	}
	s.unsent.mu.Unlock()
	s.queue.Add(k)
}
