package tunnel

import (
	"sync"
	"time"
)

// questionBytes is larger than any packet. So a question crosses only where full packets do.
const questionBytes = 1500

// answerTime is how long an answer may take, with patience for a far side, in round trips.
const (
	answerTime   = 10 * time.Second
	answerRounds = 8
)

// mtuBlackhole detects a link that carries small packets and no full ones. A route that changes to
// a path with a smaller MTU does that: heartbeats and acknowledgements cross, data does not. A
// session over it would neither end nor deliver. When a batch waits long for its acknowledgement,
// the peer is asked a question that takes a full packet. An answer means that the peer is only
// slow.
type mtuBlackhole struct {
	control *control
	conn    Conn
	found   func(error) // ends the session

	mu     sync.Mutex
	asked  *time.Timer // ends the session unless there is an answer; nil while nothing is asked
	before uint64      // bytes that had come when it was asked
	over   bool
}

// suspect asks, unless a question is open.
func (h *mtuBlackhole) suspect() {
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

// unanswered ends the session if anything came instead of the answer. A link that carries nothing
// at all is judged by its transport.
func (h *mtuBlackhole) unanswered() {
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

// answer answers a question, or takes the answer to one.
func (h *mtuBlackhole) answer(payload []byte) error {
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
func (h *mtuBlackhole) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over = true; h.asked != nil {
		h.asked.Stop()
	}
}
