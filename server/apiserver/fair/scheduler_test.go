package fair

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestAFloodWaitsBehindItself: with all seats taken and a long line of one space, each freed seat
// goes to the lines in turn.
func TestAFloodWaitsBehindItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(4, 100)
		var mu sync.Mutex
		var order []string
		var free []func()
		take := func(space string) {
			leave, err := s.Take(t.Context(), space)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			order, free = append(order, space), append(free, leave)
			mu.Unlock()
		}
		for range 50 {
			go take("flood")
		}
		synctest.Wait()
		if len(order) != 2 {
			t.Fatalf("one space holds %d of 4 seats", len(order))
		}
		go take("other")
		go take("third")
		synctest.Wait()
		if len(order) != 4 {
			t.Fatalf("others wait although there are seats: %v", order)
		}
		for range 10 {
			go take("other")
			go take("third")
		}
		synctest.Wait()
		for range 30 {
			mu.Lock()
			leave := free[0]
			free = free[1:]
			mu.Unlock()
			leave()
			synctest.Wait()
		}
		got := map[string]int{}
		for _, space := range order[4:34] {
			got[space]++
		}
		if got["other"] != 10 || got["third"] != 10 || got["flood"] != 10 {
			t.Errorf("of 30 seats that became free: %v", got)
		}
		for len(free) > 0 {
			leave := free[0]
			free = free[1:]
			leave()
			synctest.Wait()
		}
		if len(s.lines) != 0 || len(s.turns) != 0 || s.taken != 0 {
			t.Errorf("something is left: %d lines, %d turns, %d seats", len(s.lines), len(s.turns), s.taken)
		}
	})
}

func TestLinesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(2, 3)
		ctx, cancel := context.WithCancel(t.Context())
		leave, err := s.Take(ctx, "a")
		if err != nil {
			t.Fatal(err)
		}
		var gaveUp atomic.Int64
		for range 3 {
			go func() {
				if _, err := s.Take(ctx, "a"); errors.Is(err, context.Canceled) {
					gaveUp.Add(1)
				}
			}()
		}
		synctest.Wait()
		if _, err := s.Take(ctx, "a"); !errors.Is(err, ErrFull) {
			t.Errorf("the line is longer than it may be: %v", err)
		}
		cancel()
		synctest.Wait()
		leave()
		leave() // twice is once
		if gaveUp.Load() != 3 || s.taken != 0 || len(s.lines) != 0 || len(s.turns) != 0 {
			t.Errorf(
				"%d gave up; %d seats, %d lines, %d turns are left",
				gaveUp.Load(),
				s.taken,
				len(s.lines),
				len(s.turns),
			)
		}
	})
}

// TestSeatsAreNeitherLostNorDoubled lets many come, give up and go at random.
func TestSeatsAreNeitherLostNorDoubled(t *testing.T) {
	const seats = 5
	s := New(seats, 1000)
	var all sync.WaitGroup
	var sitting atomic.Int64
	spaces := []string{"a", "b", "c"}
	for i := range 300 {
		all.Go(func() {
			for range 20 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(300))*time.Microsecond)
				leave, err := s.Take(ctx, spaces[i%len(spaces)])
				if err == nil {
					if n := sitting.Add(1); n > seats {
						t.Errorf("%d sit on %d seats", n, seats)
					}
					time.Sleep(time.Duration(rand.IntN(30)) * time.Microsecond)
					sitting.Add(-1)
					leave()
				}
				cancel()
			}
		})
	}
	all.Wait()
	if s.taken != 0 || len(s.lines) != 0 || !slices.Equal(s.turns, nil) {
		t.Errorf("%d seats, %d lines, %d turns are left", s.taken, len(s.lines), len(s.turns))
	}
}
