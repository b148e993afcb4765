package observe

import (
	"testing"
	"time"
)

func TestPaceOfEvents(t *testing.T) {
	p := newPace()
	now := p.filled
	for _, c := range []struct {
		after time.Duration
		n     int
		want  int
	}{
		{0, 3, 3}, {0, 100, eventBurst - 3}, {0, 5, 0}, {eventEvery / 2, 5, 0}, {eventEvery / 2, 5, 1},
		{10 * eventEvery, 100, 10}, {24 * time.Hour, 1000, eventBurst},
	} {
		now = now.Add(c.after)
		if got := p.allow(now, c.n); got != c.want {
			t.Errorf("after %s %d of %d may go, want %d", c.after, got, c.n, c.want)
		}
	}
}
