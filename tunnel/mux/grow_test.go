package mux

import (
	"testing"
	"testing/synctest"
	"time"
)

// A window grows for who waits for credit, also where the link has become longer than the round trip that was
// measured of it; not for who is read slowly, nor for who has room.
func TestWindowsGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, c := range map[string]struct {
			credited, came time.Duration // how long ago
			room           int
			grows          bool
		}{
			"half within two round trips":   {time.Millisecond, time.Millisecond, 100, true},
			"used up, over a longer link":   {100 * time.Millisecond, time.Millisecond, 0, true},
			"used up, and read slowly":      {time.Second, time.Second, 0, false},
			"room is left on a longer link": {100 * time.Millisecond, time.Millisecond, 100, false},
		} {
			time.Sleep(time.Hour)
			conn := &Conn{Options: Options{Profile: Data, Budget: NewBudget(MaxBudget)}, rtt: time.Millisecond}
			s := &stream{c: conn, id: 1, size: Data.ChildWindow, most: Data.MaxChildWindow, window: c.room,
				epoch: time.Now().Add(-c.credited), came: time.Now().Add(-c.came)}
			if more := s.growLocked(); (more > 0) != c.grows {
				t.Errorf("%s: grew by %d", what, more)
			}
		}
	})
}
