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

// looks are the callers whom the cluster is asked about. The zero value has none.
type looks struct {
	mu        sync.Mutex
	all       int
	spaces    map[string]int
	strangers map[stranger]time.Time // and when it was found out
}

// stranger is an address that calls a Service of a space and is none of its Pods.
type stranger struct {
	space string
	at    netip.Addr
}

// begin takes a place, and returns what gives it back, which is told whether the caller may ask again at once.
// Without a place it says why.
func (l *looks) begin(space string, at netip.Addr) (done func(again bool), refused string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	who := stranger{space, at}
	if found, is := l.strangers[who]; is && time.Since(found) < strangerTime {
		return nil, refusedCaller
	}
	if l.all >= mostLooks || l.spaces[space] >= mostLooksOfSpace {
		return nil, refusedLimit
	}
	if l.spaces == nil {
		l.spaces, l.strangers = map[string]int{}, map[stranger]time.Time{}
	}
	l.all++
	l.spaces[space]++
	return func(again bool) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all--
		if l.spaces[space]--; l.spaces[space] == 0 {
			delete(l.spaces, space)
		}
		if !again {
			if len(l.strangers) >= mostStrangers {
				clear(l.strangers)
			}
			l.strangers[who] = time.Now()
		}
	}, ""
}
