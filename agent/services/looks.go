package services

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
)

const (
	// mostLooks is how many callers the cluster is asked about at a time, mostLooksOfSpace how many who call one
	// space's Services.
	mostLooks        = 16
	mostLooksOfSpace = 8
	// mostSharing is how many connections wait for a look at their caller that another one has begun, mostSharingOfSpace
	// how many who call one space's Services. A new Pod may begin with many at once.
	mostSharing        = 1024
	mostSharingOfSpace = 256
	// strangerTime is for how long an address is not asked about again that is no Pod of the space.
	strangerTime = time.Second
	// mostStrangers bounds how many of them are remembered.
	mostStrangers = 1024
)

// looks are the callers whom the cluster is asked about.
type looks struct {
	open, sharing exchange.Seats

	mu        sync.Mutex
	strangers map[stranger]finding
	asked     map[question]*look
}

// question is what the cluster is asked: who calls a Service.
type question struct {
	stranger
	service store.Key
}

// look is a question that the cluster is asked. What it has found is there when it has ended.
type look struct {
	ended chan struct{}
	is    who
	from  string
	err   error
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
	return looks{open: exchange.Seats{Most: mostLooks, MostOfSpace: mostLooksOfSpace},
		sharing: exchange.Seats{Most: mostSharing, MostOfSpace: mostSharingOfSpace}, asked: map[question]*look{}}
}

// stranger is an address that calls a Service of a space and is none of its Pods.
type stranger struct {
	space string
	at    netip.Addr
}

// ask finds out who calls a Service of a space, and what other sites are told of that, or says why nobody is asked.
// Connections of one caller share an answer. A Pod of the space may be asked about again at once, and what could not be
// found out.
func (l *looks) ask(ctx context.Context, service store.Key, at netip.Addr, find func() (who, string, error)) (
	is who, from, refused string, err error,
) {
	of := question{stranger{service.Space, at}, service}
	for {
		found, same, end := l.turn(of)
		switch {
		case found != unasked:
			return found, "", "", nil
		case same == nil:
			return unasked, "", refusedLimit, nil
		case end != nil:
			same.is, same.from, same.err = find()
			end()
			return same.is, same.from, "", same.err
		}
		if refused := l.share(ctx, service.Space, same); refused != "" {
			return unasked, "", refused, nil
		}
		if same.err == nil {
			return same.is, same.from, "", nil
		} // else the cluster is asked once more
	}
}

// turn returns what is remembered, or else the look that is to be waited for, or one that is to be made and ended; none
// where there are too many.
func (l *looks) turn(of question) (found who, same *look, end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if found := l.foundLocked(of.stranger); found != unasked {
		return found, nil, nil
	}
	if same := l.asked[of]; same != nil {
		return unasked, same, nil
	}
	give := l.open.Take(of.space)
	if give == nil {
		return unasked, nil, nil
	}
	mine := &look{ended: make(chan struct{})}
	l.asked[of] = mine
	return unasked, mine, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		give()
		delete(l.asked, of)
		if mine.err == nil && (mine.is == theirs || mine.is == nobodys) {
			l.noteLocked(of.stranger, mine.is)
		}
		close(mine.ended)
	}
}

// share waits for a look of another connection.
func (l *looks) share(ctx context.Context, space string, same *look) (refused string) {
	give := l.sharing.Take(space)
	if give == nil {
		return refusedLimit
	}
	defer give()
	select {
	case <-same.ended:
		return ""
	case <-ctx.Done():
		return refusedCaller
	}
}

func (l *looks) foundLocked(of stranger) who {
	if f, is := l.strangers[of]; is && time.Since(f.at) < strangerTime {
		return f.who
	}
	return unasked
}

func (l *looks) noteLocked(of stranger, is who) {
	if l.strangers == nil || len(l.strangers) >= mostStrangers {
		l.strangers = map[stranger]finding{}
	}
	l.strangers[of] = finding{is, time.Now()}
}
