package bolt

import (
	"sync"

	"go.etcd.io/bbolt"
)

// maxGroup is how many writes one transaction takes at most.
const maxGroup = 256

// group lets writes that wait for the disk share one transaction. It buys syncs: a file of many
// senders takes what all of them report with the two syncs of one. A write that is alone waits for
// nobody. Each write has its own outcome: if one fails, all of its group are done again, each by
// itself. Without it, updateTogether is update.
type group struct {
	mu      sync.Mutex
	waiting []*groupWrite
	leads   bool // somebody commits
}

type groupWrite struct {
	do   func(*bbolt.Tx) error
	done chan error
	lead chan struct{} // it is this one's turn to commit what waits, itself first
}

// updateTogether is update that shares its transaction with others. do may run more than once, and
// on the goroutine of another writer.
func (f *File) updateTogether(do func(*bbolt.Tx) error) error {
	w := &groupWrite{do: do, done: make(chan error, 1), lead: make(chan struct{}, 1)}
	g := &f.group
	g.mu.Lock()
	g.waiting = append(g.waiting, w)
	if !g.leads {
		g.leads = true
		w.lead <- struct{}{}
	}
	g.mu.Unlock()
	select {
	case err := <-w.done:
		return err
	case <-w.lead:
		f.commitGroup(g.dequeue())
		g.pass()
		return <-w.done
	}
}

// dequeue removes the next group from those that wait; the one who leads is its first.
func (g *group) dequeue() []*groupWrite {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.waiting), maxGroup)
	taken := g.waiting[:n:n]
	if g.waiting = g.waiting[n:]; len(g.waiting) == 0 {
		g.waiting = nil
	}
	return taken
}

// pass lets the first of those that wait lead.
func (g *group) pass() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.leads = len(g.waiting) > 0; g.leads {
		g.waiting[0].lead <- struct{}{}
	}
}

func (f *File) commitGroup(writes []*groupWrite) {
	err := f.update(func(tx *bbolt.Tx) error {
		for _, w := range writes {
			if err := w.do(tx); err != nil {
				return err
			}
		}
		return nil
	})
	for _, w := range writes {
		if err != nil && len(writes) > 1 {
			w.done <- f.update(w.do)
		} else {
			w.done <- err
		}
	}
}
