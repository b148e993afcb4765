package services

import (
	"net/netip"
	"sync"
	"time"
)

const (
	// mostLooks is how many callers the cluster is asked about at a time, mostLooksOfSpace how many who call one
	// space's Services.
	mostLooks        = 16
	mostLooksOfSpace = 8
	// strangerTime is for how long an address is not asked about again that is no Pod of the space.
	strangerTime = time.Second
	// mostStrangers bounds how many of them are remembered.
	mostStrangers = 1024
)

// looks are the callers whom the cluster is asked about.
type looks struct {
	open      seats
	mu        sync.Mutex
	strangers map[stranger]time.Time // and when it was found out
}

func newLooks() looks { return looks{open: seats{most: mostLooks, mostOfSpace: mostLooksOfSpace}} }

// stranger is an address that calls a Service of a space and is none of its Pods.
type stranger struct {
	space string
	at    netip.Addr
}

// begin takes a place, and returns what gives it back, which is told whether the caller may ask again at once.
// Without a place it says why.
func (l *looks) begin(space string, at netip.Addr) (done func(again bool), refused string) {
	who := stranger{space, at}
	if l.knows(who) {
		return nil, refusedCaller
	}
	give := l.open.take(space)
	if give == nil {
		return nil, refusedLimit
	}
	return func(again bool) {
		if give(); !again {
			l.note(who)
		}
	}, ""
}

func (l *looks) knows(who stranger) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	found, is := l.strangers[who]
	return is && time.Since(found) < strangerTime
}

func (l *looks) note(who stranger) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.strangers == nil || len(l.strangers) >= mostStrangers {
		l.strangers = map[stranger]time.Time{}
	}
	l.strangers[who] = time.Now()
}
