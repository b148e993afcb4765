package mux

import (
	"bytes"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// The round trip of a heartbeat begins with the ping that it answers. An answer to none measures
// nothing.
func TestHeartbeatIsMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var took []time.Duration
		p := &peer{Reader: bytes.NewReader(nil), stays: make(chan struct{})}
		c := New(p, Options{Profile: Sync, OnHeartbeat: func(d time.Duration) { took = append(took, d) }})
		ping := func() {
			if err := c.Ping(); err != nil {
				t.Fatal(err)
			}
		}
		pong := func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if err := c.takeLocked(frame{kind: framePong}); err != nil {
				t.Fatal(err)
			}
		}
		pong()
		ping()
		time.Sleep(2 * time.Second)
		ping()
		time.Sleep(time.Second)
		pong()
		pong()
		if want := []time.Duration{3 * time.Second}; !slices.Equal(took, want) || c.Stats().RTT != want[0] {
			t.Errorf("heartbeats took %v, want %v; the round trip is %s", took, want, c.Stats().RTT)
		}
		close(p.stays)
		<-c.Received()
	})
}
