package tunnel

import (
	"sync"
	"time"
)

// A question is larger than any packet, so that it crosses only where full packets do.
const questionBytes = 1500

// answerTime is how long an answer may take, with patience for a far side, in round trips.
const (
	answerTime   = 10 * time.Second
	answerRounds = 8
)

// hole finds out whether a link that carries small packets has stopped to carry full ones, as one does whose route has changed to a path with a smaller
// MTU: signs of life and acknowledgements cross, and data does not. A session over it would never end by itself, and never deliver. When a batch is not
// acknowledged for long the other side is asked a question that takes a full packet; an answer means that it is only slow.
type hole struct {
	control *control
	conn    Conn
	found   func(error) // ends the session

	mu     sync.Mutex
	asked  *time.Timer // ends the session unless there is an answer; nil while nothing is asked
	before uint64      // bytes that had come when it was asked
	over   bool
}

// suspect asks, unless it has.
func (h *hole) suspect() {
	h.mu.Lock()
	if h.asked != nil || h.over {
		h.mu.Unlock()
		return
	}
	now := h.conn.Stats()
	h.before = now.ReceivedBytes
	h.asked = time.AfterFunc(answerTime+answerRounds*now.RTT, h.unanswered)
	h.mu.Unlock()
	if err := h.control.sendBytes(typeEcho, make([]byte, questionBytes)); err != nil {
		h.found(err)
	}
}

// unanswered ends the session if anything came instead of the answer. A link that carries nothing is not for this to judge.
func (h *hole) unanswered() {
	h.mu.Lock()
	silent, over := h.conn.Stats().ReceivedBytes == h.before, h.over || h.asked == nil
	if silent && !over {
		h.asked.Reset(answerTime)
	}
	h.mu.Unlock()
	if !silent && !over {
		h.found(ErrStalled)
	}
}

// heard takes a question, which is answered at once, or an answer.
func (h *hole) heard(payload []byte) error {
	if len(payload) > 0 {
		return h.control.sendBytes(typeEcho, nil)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.asked != nil {
		h.asked.Stop()
		h.asked = nil
	}
	return nil
}

// end forgets what was asked.
func (h *hole) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over = true; h.asked != nil {
		h.asked.Stop()
	}
}
