package uplink

import (
	"testing"
	"time"

	"skerry.dev/skerry/tunnel/tunneltest"
)

// An idle session says how long its heartbeats take, over either transport.
func TestHeartbeatsAreMeasured(t *testing.T) {
	for _, transport := range []string{overQUIC, overTCP} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			c := newCenter(t)
			c.relay.Set(tunneltest.Faults{Cut: transport == overTCP})
			took := make(chan time.Duration, 1000)
			c.site(t, func(cfg *Config) { cfg.OnHeartbeat = func(d time.Duration) { took <- d } })
			within(t, "a session", func() bool { return c.transport() == transport })
			select {
			case d := <-took:
				if d <= 0 || d > 10*time.Second {
					t.Errorf("a heartbeat took %s", d)
				}
			case <-time.After(time.Minute):
				t.Error("no heartbeat was measured")
			}
			if now := c.transport(); now != transport {
				t.Errorf("the session is over %s", now)
			}
		})
	}
}
