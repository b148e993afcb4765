package fair

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// ErrFull is returned when the line of a space is as long as it may be.
var ErrFull = errors.New("too many requests of this space are waiting")

// Scheduler gives out the seats. Its methods may be called concurrently.
type Scheduler struct {
	seats, perSpace, queue int

	mu    sync.Mutex
	taken int
	lines map[string]*line
	turns []*line // the lines in which somebody waits, next first
}

// line is a space that has requests under way.
type line struct {
	space   string
	taken   int
	waiting []*waiter
}

type waiter struct{ seat chan struct{} }

// New returns a scheduler with a number of seats. Each line holds at most the given number of
// waiting requests.
func New(seats, queue int) *Scheduler {
	return &Scheduler{seats: seats, perSpace: max(1, seats/2), queue: queue, lines: map[string]*line{}}
}

// Take returns when the request has a seat; leave gives it back. The error is ErrFull, or that of
// ctx.
func (s *Scheduler) Take(ctx context.Context, space string) (leave func(), err error) {
	s.mu.Lock()
	l := s.lines[space]
	if l == nil {
		l = &line{space: space}
		s.lines[space] = l
	}
	leave = sync.OnceFunc(func() { s.leave(l) })
	if s.taken < s.seats && l.taken < s.perSpace && len(l.waiting) == 0 {
		s.taken++
		l.taken++
		s.mu.Unlock()
		return leave, nil
	}
	if len(l.waiting) >= s.queue {
		s.mu.Unlock()
		return nil, ErrFull
	}
	w := &waiter{make(chan struct{})}
	if len(l.waiting) == 0 {
		s.turns = append(s.turns, l)
	}
	l.waiting = append(l.waiting, w)
	s.mu.Unlock()
	select {
	case <-w.seat:
		return leave, nil
	case <-ctx.Done():
	}
	if !s.giveUp(l, w) {
		leave() // it was given a seat meanwhile
	}
	return nil, ctx.Err()
}

// giveUp removes a waiting request from its line. It reports false if the request has a seat
// already.
func (s *Scheduler) giveUp(l *line, w *waiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(l.waiting, w)
	if i < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	if len(l.waiting) == 0 {
		s.turns = slices.DeleteFunc(s.turns, func(other *line) bool { return other == l })
	}
	s.forget(l)
	return true
}

func (s *Scheduler) leave(l *line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	l.taken--
	s.seat()
	s.forget(l)
}

// seat gives the free seats to those who wait, one line after the other.
func (s *Scheduler) seat() {
	for skipped := 0; s.taken < s.seats && skipped < len(s.turns); {
		l := s.turns[0]
		s.turns = s.turns[1:]
		if l.taken >= s.perSpace {
			s.turns = append(s.turns, l)
			skipped++
			continue
		}
		skipped = 0
		w := l.waiting[0]
		l.waiting = l.waiting[1:]
		if len(l.waiting) > 0 {
			s.turns = append(s.turns, l)
		}
		s.taken++
		l.taken++
		close(w.seat)
	}
}

func (s *Scheduler) forget(l *line) {
	if l.taken == 0 && len(l.waiting) == 0 {
		delete(s.lines, l.space)
	}
}
