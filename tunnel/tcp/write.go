package tcp

import (
	"fmt"
	"maps"
	"time"
)

// write sends one frame as one record.
func (c *conn) write(f frame, payload []byte) error {
	b := f.append(make([]byte, 0, 12+len(payload)))
	return c.send(append(b, payload...))
}

func (c *conn) send(b []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.Err(); err != nil {
		return err
	}
	if err := c.tls.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return c.broke(err)
	}
	if _, err := c.tls.Write(b); err != nil {
		return c.broke(err)
	}
	return nil
}

// broke ends the connection with an error of the network, and returns why it ended.
func (c *conn) broke(err error) error {
	if c.end(fmt.Errorf("the connection broke: %w", err)) {
		_ = c.tls.NetConn().Close()
	}
	return c.Err()
}

// owe notes credit for the other side; the caller holds mu.
func (c *conn) owe(stream uint32, n int) { c.debts[stream] += n }

// taken notes that bytes of the connection were read, or thrown away; the caller holds mu.
func (c *conn) taken(n int) {
	if c.read += n; c.read >= connectionWindow/4 {
		c.owe(0, c.read)
		c.window += c.read
		c.read = 0
	}
}

// owes tells whether the caller, who holds mu, is to call pay.
func (c *conn) owes() bool {
	if c.paying || c.err != nil || len(c.debts) == 0 && !c.pong {
		return false
	}
	c.paying = true
	return true
}

// pay writes what is owed until nothing is.
func (c *conn) pay() {
	for {
		c.mu.Lock()
		debts, pong := maps.Clone(c.debts), c.pong
		clear(c.debts)
		c.pong = false
		if len(debts) == 0 && !pong || c.err != nil {
			c.paying = false
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		var b []byte
		for stream, n := range debts {
			b = frame{kind: frameCredit, stream: stream, value: n}.append(b)
		}
		if pong {
			b = frame{kind: framePong}.append(b)
		}
		_ = c.send(b) // it fails with the connection, which ends the loop
	}
}

// KeepAlive has a child ask for a sign of life when it has heard nothing for so long.
func (c *conn) KeepAlive(every time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.every = every
	if c.alive != nil && c.err == nil {
		c.alive.Reset(every)
	}
}

// keepAlive asks for a sign of life when there was none for a while, and comes back.
func (c *conn) keepAlive() {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	left := c.every - time.Since(c.heard)
	ask := left <= 0 && time.Since(c.pinged) >= c.every
	c.alive.Reset(max(left, c.every/8))
	c.mu.Unlock()
	if ask {
		_ = c.Ping()
	}
}

// Ping asks the other side for a sign of life.
func (c *conn) Ping() error {
	c.mu.Lock()
	c.pinged = time.Now()
	c.mu.Unlock()
	return c.write(frame{kind: framePing}, nil)
}
