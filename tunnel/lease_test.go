package tunnel_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/lease"
	"skerry.dev/skerry/tunnel/pipe"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// leaseEnds are both ends of a lease. The child asks again every 10 s, and at once after its first
// answer.
type leaseEnds struct {
	began  time.Time
	silent bool // the parent does not answer

	mu       sync.Mutex
	begun    [2]int
	requests []time.Duration // when they were answered, or would have been
	answers  []lease.Answer
}

func (l *leaseEnds) begin(end int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun[end]++
}

type leaseChild struct{ *leaseEnds }

func (l leaseChild) Begin() { l.begin(0) }

func (l leaseChild) Request() (lease.Request, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return lease.Request{N: int64(len(l.requests) + 1)}, 10 * time.Second
}

func (l leaseChild) Answered(a lease.Answer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers = append(l.answers, a)
	return len(l.answers) == 1
}

type leaseParent struct{ *leaseEnds }

func (l leaseParent) Begin() { l.begin(1) }

func (l leaseParent) Answer(r lease.Request) (lease.Answer, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests = append(l.requests, time.Since(l.began).Round(time.Second))
	return lease.Answer{N: r.N, For: time.Minute}, !l.silent
}

func TestAChildAsksForItsLease(t *testing.T) {
	for name, c := range map[string]struct {
		silent   bool
		requests int // within a minute, one of which the parent asks for after 15 s
		answers  int
	}{
		"answered":                        {requests: 1 + 1 + 1 + 1 + 4, answers: 8},
		"by a parent that may not answer": {silent: true, requests: 1 + 1 + 1 + 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &leaseEnds{began: time.Now(), silent: c.silent}
				commands := tunnel.NewCommands(1)
				cfg := tunneltest.Parent{Feed: feedOf(1), Inbox: storetest.NewMemory()}.Config()
				cfg.Commands, cfg.Lease = commands, leaseParent{l}
				go func() {
					time.Sleep(15 * time.Second)
					commands.Put(tunnel.AskLease{})
				}()
				both(pipe.Options{}, tunnel.ChildConfig{
					Desired: storetest.NewMemory(), Reported: feedOf(1), Lease: leaseChild{l},
				}, cfg)
				if l.begun != [2]int{1, 1} {
					t.Errorf("begun %v", l.begun)
				}
				if len(l.requests) != c.requests || len(l.answers) != c.answers {
					t.Errorf("requests at %v, want %d; %d answers, want %d", l.requests, c.requests, len(l.answers), c.answers)
				}
			})
		})
	}
}

// Who keeps no lease asks for none, and ends no session of a parent that asks for it.
func TestAChildWithoutALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leaseEnds{began: time.Now()}
		commands := tunnel.NewCommands(1)
		commands.Put(tunnel.AskLease{})
		cfg := tunneltest.Parent{Feed: feedOf(1), Inbox: storetest.NewMemory()}.Config()
		cfg.Commands, cfg.Lease = commands, leaseParent{l}
		both(pipe.Options{}, tunnel.ChildConfig{Desired: storetest.NewMemory(), Reported: feedOf(1)}, cfg)
		if took := time.Since(l.began); len(l.requests) > 0 || took < time.Minute {
			t.Errorf("requests at %v, the session lasted %v", l.requests, took)
		}
	})
}
