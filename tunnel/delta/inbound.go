package delta

import (
	"bufio"
	"context"
	"fmt"
	"sync"

	"skerry.dev/skerry/tunnel/wire"
)

type frame struct {
	kind    wire.Type
	payload []byte
}

// inbound reads ahead of the receiver while it waits for its disk, up to a number of bytes: then the stream's own flow control holds the sender.
type inbound struct {
	limit int
	ready chan struct{} // one slot: there are frames, or an error
	space chan struct{} // one slot: frames were taken

	mu     sync.Mutex
	frames []frame
	bytes  int
	err    error
}

func newInbound(limit int) *inbound {
	return &inbound{limit: limit, ready: make(chan struct{}, 1), space: make(chan struct{}, 1)}
}

// fill reads frames until the stream ends.
func (q *inbound) fill(ctx context.Context, in *bufio.Reader) {
	for {
		kind, payload, err := wire.ReadFrame(in, wire.MaxFrame)
		full := q.put(frame{kind, payload}, err)
		if err != nil {
			return
		}
		if full {
			select {
			case <-q.space:
			case <-ctx.Done():
				return
			}
		}
	}
}

func (q *inbound) put(f frame, err error) (full bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err != nil {
		q.err = fmt.Errorf("read from the sender: %w", err)
	} else {
		q.frames = append(q.frames, f)
		q.bytes += len(f.payload)
	}
	wake(q.ready)
	if q.bytes < q.limit {
		return false
	}
	select { // an old signal must not count for this wait
	case <-q.space:
	default:
	}
	return true
}

// take returns all frames that have arrived, waiting for the first. Frames that came before an error are returned before it.
func (q *inbound) take(ctx context.Context) ([]frame, error) {
	for {
		select {
		case <-q.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		q.mu.Lock()
		frames, err := q.frames, q.err
		q.frames, q.bytes = nil, 0
		q.mu.Unlock()
		wake(q.space)
		switch {
		case len(frames) > 0:
			if err != nil {
				wake(q.ready)
			}
			return frames, nil
		case err != nil:
			return nil, err
		}
	}
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
