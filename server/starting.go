package server

import (
	"log/slog"
	"sync"
	"time"
)

const (
	// quietStart is how long a start may take before it says what it waits for, and startPause how
	// long it waits before it says that again.
	quietStart = 2 * time.Second
	startPause = 5 * time.Second
)

// starting says what a start waits for that takes long. Its methods may be called concurrently.
type starting struct {
	log  *slog.Logger
	done chan struct{}
	once sync.Once
	over sync.WaitGroup

	mu    sync.Mutex
	began time.Time
	what  string
}

// newStarting begins to watch a start, until end is called.
func newStarting(log *slog.Logger) *starting {
	s := &starting{log: log, done: make(chan struct{}), began: time.Now()}
	s.over.Go(s.watch)
	return s
}

// on notes what the start waits for from now on.
func (s *starting) on(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.what = what
}

// end is called when the start is over, or is given up.
func (s *starting) end() {
	s.once.Do(func() { close(s.done) })
	s.over.Wait()
}

func (s *starting) watch() {
	timer := time.NewTimer(quietStart)
	defer timer.Stop()
	for {
		select {
		case <-s.done:
			return
		case <-timer.C:
		}
		s.mu.Lock()
		what := s.what
		s.mu.Unlock()
		s.log.Info("the center is still starting", "waits for", what, "after", time.Since(s.began).Round(time.Second))
		timer.Reset(startPause)
	}
}
