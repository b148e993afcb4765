package services

import (
	"context"
	"sync"
	"time"

	"skerry.dev/skerry/tunnel/exchange"
)

const (
	// mostNewcomers is how many connections wait at a time of whose callers the cluster knows nothing,
	// mostNewcomersOfSpace how many to one space's Services. A new Pod may begin with many at once.
	mostNewcomers        = 1024
	mostNewcomersOfSpace = 256
	// newcomerTime is for how long they are: a kubelet tells the address of a Pod within a second of its start.
	newcomerTime = 2 * time.Second
)

// newcomers are callers whose address no Pod is known to have. A Pod may call before its kubelet has told its
// address, most of all when it begins.
type newcomers struct {
	open     exchange.Seats
	patience time.Duration

	mu   sync.Mutex
	told chan struct{} // closed when somebody may be known who was not; nil while nobody waits
}

func newNewcomers() newcomers {
	return newcomers{open: exchange.Seats{Most: mostNewcomers, MostOfSpace: mostNewcomersOfSpace}, patience: newcomerTime}
}

// tell has all that are waited for looked at again.
func (n *newcomers) tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.told != nil {
		close(n.told)
		n.told = nil
	}
}

func (n *newcomers) next() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.told == nil {
		n.told = make(chan struct{})
	}
	return n.told
}

// wait waits until a caller is known, and says why it is refused if that does not come to pass.
func (n *newcomers) wait(ctx context.Context, space string, known func() bool) (refused string) {
	give := n.open.Take(space)
	if give == nil {
		return refusedLimit
	}
	defer give()
	late := time.NewTimer(n.patience)
	defer late.Stop()
	for {
		told := n.next()
		if known() {
			return ""
		}
		select {
		case <-told:
		case <-late.C:
			return refusedCaller
		case <-ctx.Done():
			return refusedCaller
		}
	}
}
