package services

import (
	"net/netip"
	"sync"
	"time"

	"skerry.dev/skerry/tunnel/exchange"
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
	open      exchange.Seats
	mu        sync.Mutex
	strangers map[stranger]finding
}

// who is whose address a caller has.
type who uint8

const (
	unasked who = iota
	ours        // a Pod of the space has it
	members     // a Pod of another space has it that may call the Service, too
	theirs      // a Pod of another space has it, or Pods of more than one
	sites       // a Pod of no space has it
	nobodys     // no Pod is known to have it
)

// finding is whose address it was, and when that was found out.
type finding struct {
	who who
	at  time.Time
}

func newLooks() looks {
	return looks{open: exchange.Seats{Most: mostLooks, MostOfSpace: mostLooksOfSpace}}
}

// stranger is an address that calls a Service of a space and is none of its Pods.
type stranger struct {
	space string
	at    netip.Addr
}

// refusedNobody is the refusal of a look at an address that no Pod had a moment ago.
const refusedNobody = "nobody"

// begin takes a place, and returns what gives it back, which is told what was found out. A Pod of the space may be
// asked about again at once, and what could not be found out. Without a place it says why.
func (l *looks) begin(space string, at netip.Addr) (done func(who), refused string) {
	of := stranger{space, at}
	switch l.found(of) {
	case theirs:
		return nil, refusedCaller
	case nobodys:
		return nil, refusedNobody
	}
	give := l.open.Take(space)
	if give == nil {
		return nil, refusedLimit
	}
	return func(is who) {
		if give(); is == theirs || is == nobodys {
			l.note(of, is)
		}
	}, ""
}

func (l *looks) found(of stranger) who {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f, is := l.strangers[of]; is && time.Since(f.at) < strangerTime {
		return f.who
	}
	return unasked
}

func (l *looks) note(of stranger, is who) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.strangers == nil || len(l.strangers) >= mostStrangers {
		l.strangers = map[stranger]finding{}
	}
	l.strangers[of] = finding{is, time.Now()}
}
