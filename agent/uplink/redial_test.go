package uplink

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/tunnel/pipe"
)

// outage is a path on which what was sent before its end is lost: a try that began before that is
// never answered, one that began later is after a while.
type outage struct {
	ends    time.Time
	answer  time.Duration
	tries   atomic.Int32
	at      atomic.Int32 // once
	most    atomic.Int32
	patient time.Duration // of the first try
}

func (o *outage) first(ctx context.Context) (stood, error) {
	ctx, cancel := context.WithTimeout(ctx, o.patient)
	defer cancel()
	return o.fresh(ctx)
}

func (o *outage) fresh(ctx context.Context) (stood, error) {
	o.tries.Add(1)
	defer o.at.Add(-1)
	o.most.Store(max(o.most.Load(), o.at.Add(1)))
	answered := make(<-chan time.Time)
	if !time.Now().Before(o.ends) {
		answered = time.After(o.answer)
	}
	select {
	case <-answered:
		conn, _ := pipe.New(pipe.Options{})
		return stood{conn: conn}, nil
	case <-ctx.Done():
		return stood{}, ctx.Err()
	}
}

// TestRedial: the end of an outage is found by a fresh try, long before the first has been given
// up.
func TestRedial(t *testing.T) {
	for name, c := range map[string]struct {
		lasts, within time.Duration // the outage, and the connection after its end
		tries         int32         // at most
	}{
		"no outage":    {0, 100 * time.Millisecond, 1},
		"a short one":  {time.Second, 2500 * time.Millisecond, 4},
		"a longer one": {8 * time.Second, 3 * time.Second, 10},
	} {
		t.Run(name, func(t *testing.T) {
			for range 50 {
				synctest.Test(t, func(t *testing.T) {
					began := time.Now()
					o := &outage{ends: began.Add(c.lasts), answer: 50 * time.Millisecond, patient: 12 * time.Second}
					s, err := redial(t.Context(), began, new(dialActivity), o.first, o.fresh)
					if err != nil {
						t.Fatal(err)
					}
					s.conn.Close(nil)
					if late := time.Since(o.ends); late > c.within || o.tries.Load() > c.tries || o.most.Load() > 2 ||
						o.at.Load() != 0 {
						t.Errorf(
							"%s after the end; %d tries, %d at once, %d go on",
							late,
							o.tries.Load(),
							o.most.Load(),
							o.at.Load(),
						)
					}
				})
			}
		})
	}
}

// TestRedialOnASlowPath: an answer that takes longer than a fresh try lasts comes to the first.
func TestRedialOnASlowPath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &outage{ends: time.Now(), answer: 5 * time.Second, patient: longHandshake}
		s, err := redial(t.Context(), time.Now(), new(dialActivity), o.first, o.fresh)
		if err != nil {
			t.Fatal(err)
		}
		s.conn.Close(nil)
	})
}

// TestRedialOnABusyParent: one that answers the first try is not given another to answer, unless it
// falls silent, or goes on like that without end.
func TestRedialOnABusyParent(t *testing.T) {
	for name, c := range map[string]struct {
		answers, stands time.Duration // the first try is answered for so long, and stands then
		fresh           bool
	}{
		"it answers":             {3 * time.Second, 3500 * time.Millisecond, false},
		"it has fallen silent":   {time.Second, 4 * time.Second, true},
		"it answers without end": {time.Minute, time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				answers, tries := new(dialActivity), 0
				first := func(ctx context.Context) (stood, error) {
					for began := time.Now(); ctx.Err() == nil && time.Since(began) < c.stands; time.Sleep(100 * time.Millisecond) {
						if time.Since(began) <= c.answers {
							answers.record()
						}
					}
					conn, _ := pipe.New(pipe.Options{})
					return stood{conn: conn}, nil
				}
				fresh := func(context.Context) (stood, error) {
					tries++
					conn, _ := pipe.New(pipe.Options{})
					return stood{conn: conn}, nil
				}
				s, err := redial(t.Context(), time.Now(), answers, first, fresh)
				if err != nil {
					t.Fatal(err)
				}
				s.conn.Close(nil)
				if (tries > 0) != c.fresh {
					t.Errorf("%d fresh tries", tries)
				}
			})
		})
	}
}

// TestRedialGivesUp: with the first try all end, and so they do with the context.
func TestRedialGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("another center")
		o := &outage{ends: time.Now().Add(time.Hour), patient: 3 * time.Second}
		if _, err := redial(t.Context(), time.Now(), new(dialActivity), func(context.Context) (stood, error) {
			return stood{}, refused
		}, o.fresh); !errors.Is(
			err,
			refused,
		) ||
			o.tries.Load() > 0 {
			t.Errorf("%v after %d fresh tries", err, o.tries.Load())
		}
		began := time.Now()
		if _, err := redial(t.Context(), began, new(dialActivity), o.first, o.fresh); !errors.Is(
			err,
			context.DeadlineExceeded,
		) ||
			time.Since(began) != o.patient ||
			o.at.Load() != 0 {
			t.Errorf("%v after %s, %d tries go on", err, time.Since(began), o.at.Load())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := redial(ctx, time.Now(), new(dialActivity), o.first, o.fresh); !errors.Is(
			err,
			context.DeadlineExceeded,
		) ||
			o.at.Load() != 0 {
			t.Errorf("%v, %d tries go on", err, o.at.Load())
		}
	})
}

// TestGapAfter: the longer the outage, the more seldom fresh tries are, and sites do not try at the
// same moments.
func TestGapAfter(t *testing.T) {
	for _, c := range []struct{ silent, gap time.Duration }{{0, time.Second},
		{9 * time.Second, time.Second}, {40 * time.Second, 4 * time.Second},
		{24 * time.Hour, longestWait}} {
		var least, most time.Duration = 1 << 60, 0
		for range 1000 {
			g := gapAfter(c.silent)
			least, most = min(least, g), max(most, g)
		}
		if least < c.gap/2 || most > c.gap*3/2 || most-least < c.gap*3/4 {
			t.Errorf("after %s of silence the gaps are %s to %s, want about %s", c.silent, least, most, c.gap)
		}
	}
}
