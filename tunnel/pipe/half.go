package pipe

import (
	"io"
	"os"
	"sync"
	"time"
)

// bufferBytes is how much one direction of a stream holds before Write waits.
const bufferBytes = 64 << 10

// half is one direction of a stream.
type half struct {
	link *link
	from side

	mu       sync.Mutex
	chunks   []chunk
	bytes    int
	end      error // what Read returns behind the last chunk
	broken   error // what Read and Write return at once
	change   chan struct{}
	deadline [2]time.Time // of Read and of Write
}

type chunk struct {
	data []byte
	at   time.Time
}

const (
	reading = iota
	writing
)

func newHalf(l *link, from side) *half {
	return &half{link: l, from: from, change: make(chan struct{})}
}

// changedLocked wakes everybody who waits.
func (h *half) changedLocked() {
	close(h.change)
	h.change = make(chan struct{})
}

// wait releases mu until something changes, a time has come (zero: none) or the deadline has
// passed.
func (h *half) wait(kind int, until time.Time) error {
	change, deadline := h.change, h.deadline[kind]
	if !deadline.IsZero() && !time.Now().Before(deadline) {
		return os.ErrDeadlineExceeded
	}
	if until.IsZero() || !deadline.IsZero() && deadline.Before(until) {
		until = deadline
	}
	h.mu.Unlock()
	defer h.mu.Lock()
	if until.IsZero() {
		<-change
		return nil
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-change:
	case <-timer.C:
	}
	return nil
}

func (h *half) write(b []byte) (int, error) {
	n := 0
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(b) > 0 {
		if h.broken != nil {
			return n, h.broken
		}
		if h.end != nil {
			return n, io.ErrClosedPipe
		}
		if h.bytes >= bufferBytes {
			if err := h.wait(writing, time.Time{}); err != nil {
				return n, err
			}
			continue
		}
		part := b[:min(len(b), bufferBytes-h.bytes)]
		allowed := h.link.spend(h.from, len(part))
		part = part[:allowed]
		h.chunks = append(h.chunks, chunk{append([]byte(nil), part...), time.Now().Add(h.link.options.Latency)})
		h.bytes += allowed
		h.changedLocked()
		n, b = n+allowed, b[allowed:]
		if h.link.spent() {
			h.mu.Unlock()
			h.link.end(ErrCut)
			h.mu.Lock()
		}
	}
	return n, nil
}

func (h *half) read(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		if h.broken != nil {
			return 0, h.broken
		}
		var until time.Time
		if len(h.chunks) > 0 {
			first := &h.chunks[0]
			if until = first.at; !time.Now().Before(until) {
				n := copy(b, first.data)
				if first.data = first.data[n:]; len(first.data) == 0 {
					h.chunks = h.chunks[1:]
				}
				h.bytes -= n
				h.changedLocked()
				return n, nil
			}
		} else if h.end != nil {
			return 0, h.end
		}
		if err := h.wait(reading, until); err != nil {
			return 0, err
		}
	}
}

// finish ends the direction after what is written.
func (h *half) finish() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.end == nil {
		h.end = io.EOF
		h.changedLocked()
	}
}

// cut ends it at once.
func (h *half) cut(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.broken == nil {
		h.broken, h.chunks, h.bytes = err, nil, 0
		h.changedLocked()
	}
}

func (h *half) setDeadline(kind int, t time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deadline[kind] = t
	h.changedLocked()
}
