package quic

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// sweepEvery is how often a parent checks which connections are silent. It adds to the time until
// that is noticed.
const sweepEvery = 5 * time.Second

// heartbeatServer answers the heartbeats of a parent's children, and ends connections that are
// silent. It has one timer for all, because a center has thousands.
type heartbeatServer struct {
	mu      sync.Mutex
	heard   map[sessionID]*child
	strange uint64 // signs that are nobody's, no true ones, or old
}

// child is a connection at its parent.
type child struct {
	*conn
	counter uint32 // of the last question
	silence silence
}

func newHeartbeatServer() *heartbeatServer { return &heartbeatServer{heard: map[sessionID]*child{}} }

// errTwice cannot happen, as session IDs are random and have 64 bits.
var errTwice = errors.New("a session's ID is taken")

// begin adds a child's connection.
func (h *heartbeatServer) begin(c *conn) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.heard[c.secret.session] != nil {
		return errTwice
	}
	h.heard[c.secret.session] = &child{conn: c}
	return nil
}

// answer answers a question. An unknown session gets no answer: its child then asks within the
// connection, and QUIC tells it.
func (h *heartbeatServer) answer(datagram []byte, from net.Addr) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	session, counter, ok := readQuestion(datagram)
	c := h.heard[session]
	if !ok || c == nil || counter <= c.counter || !c.secret.sealed(datagram) {
		h.strange++
		return nil
	}
	if c.quic.Context().Err() != nil {
		return nil
	}
	c.counter, c.silence.heard = counter, time.Now()
	within := !sameAddress(from, c.quic.RemoteAddr()) || !c.silence.asking.IsZero()
	answer := c.secret.answer(counter, within)
	c.received.Add(uint64(len(datagram)))
	c.sent.Add(uint64(len(answer)))
	return answer
}

func sameAddress(a, b net.Addr) bool {
	x, isUDP := a.(*net.UDPAddr)
	y, areUDP := b.(*net.UDPAddr)
	if !isUDP || !areUDP {
		return a.String() == b.String()
	}
	return x.Port == y.Port && x.IP.Equal(y.IP)
}

// run ends connections that are silent, until ctx ends.
func (h *heartbeatServer) run(ctx context.Context) {
	ticks := time.NewTicker(sweepEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticks.C:
			for _, c := range h.sweep(now) {
				c.expire()
			}
		}
	}
}

// sweep drops connections that have ended, and those that are silent, which it returns.
func (h *heartbeatServer) sweep(now time.Time) (silent []*child) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for session, c := range h.heard {
		over := c.quic.Context().Err() != nil
		if !over && c.silence.check(now, c.quic.ConnectionStats()) {
			silent = append(silent, c)
			over = true
		}
		if over {
			delete(h.heard, session)
		}
	}
	return silent
}
