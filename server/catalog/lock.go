package catalog

import "sync"

// lock is the lock of a catalog. What others are told of a change is queued while the lock is held, and told
// in that order right after it is released, by who releases it. So those who are told may look into the catalog.
type lock struct {
	sync.RWMutex

	mu     sync.Mutex
	queue  []func()
	giving sync.Mutex // held while the queue is worked off
}

// After has f called when the lock is released. The lock must be held for writing. f must not block, and must
// not write to the catalog.
func (l *lock) After(f func()) {
	l.mu.Lock()
	l.queue = append(l.queue, f)
	l.mu.Unlock()
}

// Unlock releases the lock, and returns when everything that was queued while it was held has been called.
func (l *lock) Unlock() {
	l.mu.Lock()
	queued := len(l.queue) > 0
	l.mu.Unlock()
	if l.RWMutex.Unlock(); !queued {
		return
	}
	l.giving.Lock()
	defer l.giving.Unlock()
	for f := l.next(); f != nil; f = l.next() {
		f()
	}
}

// next takes what was queued first, nil for nothing.
func (l *lock) next() func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.queue = nil
		return nil
	}
	f := l.queue[0]
	l.queue = l.queue[1:]
	return f
}
