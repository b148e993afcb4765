package quic

import (
	"bytes"
	"context"
	"net"
	"sync"
	"time"
)

const (
	// lookEvery is how often a child checks whether it has heard of its parent.
	lookEvery = time.Second
	// answerTime is how long the answer to a heartbeat may take beside a round trip. A machine may
	// be busy, and asking within QUIC costs more. What is then asked within QUIC is still answered
	// before the agent gives the connection up.
	answerTime = 600 * time.Millisecond
	// mostDoublings bounds how often the number of heartbeats within QUIC doubles before another
	// one is tried beside it. At most 63 come in a row: half an hour over a metered link and six
	// minutes over others.
	mostDoublings = 6
)

// heartbeat keeps a child's connection alive. It asks for a heartbeat beside QUIC when nothing has
// come for tunnel.KeepAliveOf its class. That may not be answered: the parent has restarted or is
// older, or something on the way passes only QUIC. The child then sends something within the
// connection.
type heartbeat struct {
	wake    func(datagram []byte)
	send    func(datagram []byte)
	took    func(time.Duration) // see DialConfig.OnHeartbeat
	answers chan bool           // of the last question: whether something is to cross within the connection

	mu       sync.Mutex
	conn     *conn
	counter  uint32    // of the last question
	asked    time.Time // when the last question was sent
	answered bool
}

func newHeartbeat(cfg DialConfig, send func(datagram []byte)) *heartbeat {
	return &heartbeat{wake: cfg.OnWake, send: send, took: cfg.OnHeartbeat, answers: make(chan bool, 1)}
}

// receive handles a datagram beside QUIC: an answer, or a parent's wake-up.
func (b *heartbeat) receive(datagram []byte, _ net.Addr) []byte {
	counter, within, ok := readAnswer(datagram)
	if !ok {
		if b.wake != nil && WakeOf(datagram) != nil {
			b.wake(bytes.Clone(datagram))
		}
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.conn == nil || b.answered || counter != b.counter || !b.conn.secret.sealed(datagram) {
		return nil
	}
	b.answered = true
	b.conn.received.Add(uint64(len(datagram)))
	if b.took != nil {
		b.took(time.Since(b.asked))
	}
	b.answers <- within // there is room: exchange has taken the one before
	return nil
}

// run keeps a connection alive until it ends.
func (b *heartbeat) run(c *conn) {
	b.mu.Lock()
	b.conn = c
	b.mu.Unlock()
	ctx := c.quic.Context()
	ticks := time.NewTicker(lookEvery)
	defer ticks.Stop()
	var silence silence
	asked := time.Now()
	missed, within := 0, 0 // answers in a row that did not come; signs of life that go within QUIC now
	for {
		select {
		case <-ctx.Done():
			return
		case wanted := <-b.answers: // late
			silence.heard = time.Now()
			if wanted {
				c.ask()
			}
			continue
		case <-ticks.C:
		}
		now := time.Now()
		if silence.check(now, c.quic.ConnectionStats()) {
			c.expire()
			return
		}
		if quiet := c.keepAlive() - lookEvery; now.Sub(silence.heard) < quiet || now.Sub(asked) < quiet {
			continue
		}
		asked = now
		if within > 0 {
			within--
			c.ask()
			continue
		}
		answered, wanted := b.exchange(ctx)
		if answered {
			silence.heard, missed = time.Now(), 0
		} else {
			within = 1<<min(missed, mostDoublings) - 1
			missed++
		}
		if !answered || wanted || !silence.asking.IsZero() {
			c.ask()
		}
	}
}

// exchange asks for a heartbeat beside QUIC and waits for it. within is true if the parent wants to
// hear something by QUIC, too.
func (b *heartbeat) exchange(ctx context.Context) (answered, within bool) {
	b.mu.Lock()
	select {
	case <-b.answers: // came too late for the last question
	default:
	}
	b.counter++
	b.asked, b.answered = time.Now(), false
	question := b.conn.secret.question(b.counter)
	b.mu.Unlock()
	b.conn.sent.Add(uint64(len(question)))
	b.send(question)
	late := time.NewTimer(answerTime + b.conn.quic.ConnectionStats().SmoothedRTT)
	defer late.Stop()
	select {
	case within := <-b.answers:
		return true, within
	case <-late.C:
	case <-ctx.Done():
	}
	return false, false
}
