package delta

import (
	"bufio"
	"fmt"
	"sync"

	"skerry.dev/skerry/tunnel/wire"
)

type frame struct {
	kind    wire.Type
	payload []byte
	own     func() error // of this side, and no frame: what the worker is to do between two
}

// inbound reads ahead of the receiver while that waits for its disk, up to a number of bytes. Then
// the stream's own flow control stops the sender. The goroutine that handles frames exists only
// while there are some, because a center has thousands of idle streams.
type inbound struct {
	limit int

	mu      sync.Mutex
	moved   *sync.Cond // frames were taken, or the work is over
	frames  []frame
	bytes   int
	working bool
	failed  bool
}

func newInbound(limit int) *inbound {
	q := &inbound{limit: limit}
	q.moved = sync.NewCond(&q.mu)
	return q
}

// fill reads frames until the stream ends, and returns why when everything before is handled. It
// calls work when there are frames and work does not run; work takes frames until there are none.
func (q *inbound) fill(in *bufio.Reader, work func()) error {
	defer q.rest()
	for {
		kind, payload, err := wire.ReadFrame(in, wire.MaxFrame)
		if err != nil {
			return fmt.Errorf("read from the sender: %w", err)
		}
		q.put(frame{kind: kind, payload: payload}, work)
	}
}

// put queues a frame, and returns when there is room for the next one.
func (q *inbound) put(f frame, work func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.addLocked(f, work)
	for q.bytes >= q.limit && !q.failed {
		q.moved.Wait()
	}
}

// between queues a function in the place of a frame. It does not wait.
func (q *inbound) between(do func() error, work func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.addLocked(frame{own: do}, work)
}

func (q *inbound) addLocked(f frame, work func()) {
	if q.failed {
		return
	}
	q.frames = append(q.frames, f)
	q.bytes += len(f.payload)
	if !q.working {
		q.working = true
		go work()
	}
}

// take returns all frames that have arrived. When there are none, or the caller has failed, the
// work ends.
func (q *inbound) take(failed bool) []frame {
	q.mu.Lock()
	defer q.mu.Unlock()
	frames := q.frames
	q.frames, q.bytes, q.failed = nil, 0, failed
	q.working = len(frames) > 0 && !failed
	q.moved.Broadcast()
	return frames
}

// rest returns when nothing works any more.
func (q *inbound) rest() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.working {
		q.moved.Wait()
	}
	q.failed = true // nothing begins any more
}
