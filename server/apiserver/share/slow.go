package share

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/endpoints/responsewriter"

	"skerry.dev/skerry/server/apiserver/response"
)

// slowAfter is how long the client of a request may keep the writes of its answer waiting, all
// together, until the request gives back its seat.
const slowAfter = time.Second

// slowOfSpace and slowOfAll are how many answers that wait for their clients may go on at a time.
// More than these are broken off.
const (
	slowOfSpace = 100
	slowOfAll   = 1000
)

// answer is a writer for what is no watch and no stream. A client that is slow to take the answer
// takes no seat from others, and one that takes nothing for StuckAfter ends the answer. A list is
// thousands of writes, so they share one timer.
type answer struct {
	http.ResponseWriter
	limiter *Limiter
	space   string
	leave   func()
	looks   sync.WaitGroup // is 1 while a look is due or goes on

	mu     sync.Mutex
	timer  *time.Timer   // calls look
	due    bool          // a look is due or goes on
	began  time.Time     // of the write that is going on; zero between writes
	waited time.Duration // how long the client has kept writes waiting that have ended
	slow   bool          // the seat is given back, and the answer counted
	ended  bool          // nobody looks again
}

// answered has h answer a request.
func (s *Limiter) answered(w http.ResponseWriter, r *http.Request, h http.Handler, space string, leave func()) {
	a := &answer{ResponseWriter: w, limiter: s, space: space, leave: leave}
	defer a.end()
	h.ServeHTTP(responsewriter.WrapForHTTP1Or2(a), r)
}

// Unwrap implements responsewriter.UserProvidedDecorator.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	written := 0
	for {
		n, err := a.step(p[written:min(len(p), written+writeStep)])
		written += n
		if err != nil || written == len(p) {
			return written, err
		}
	}
}

// step writes what a slow client takes and a stuck one does not.
func (a *answer) step(p []byte) (int, error) {
	a.mu.Lock()
	a.began = time.Now()
	a.lookLaterLocked(0)
	a.mu.Unlock()

	n, err := a.ResponseWriter.Write(p)

	a.mu.Lock()
	defer a.mu.Unlock()
	a.waited += time.Since(a.began)
	a.began = time.Time{}
	return n, err
}

// lookLaterLocked has look called when the write that has taken so long may be slow or stuck. A look
// that is due comes before that, and looks again.
func (a *answer) lookLaterLocked(taken time.Duration) {
	if a.due || a.ended {
		return
	}
	a.due = true
	a.looks.Add(1)
	after := StuckAfter - taken
	if !a.slow {
		after = min(after, slowAfter-a.waited-taken)
	}
	if a.timer == nil {
		a.timer = time.AfterFunc(after, a.look)
	} else {
		a.timer.Reset(after)
	}
}

// look gives back the seat of an answer that is slow, and breaks off one that is stuck.
func (a *answer) look() {
	defer a.looks.Done()
	a.mu.Lock()
	if a.ended || a.began.IsZero() { // the next write has somebody look again
		a.due = false
		a.mu.Unlock()
		return
	}
	taken := time.Since(a.began)
	late, stuck := !a.slow && a.waited+taken >= slowAfter, taken >= StuckAfter
	a.mu.Unlock()

	slow := late && a.limiter.slow.open(a.space)
	if stuck || late && !slow {
		stuck = true
		response.Break(a.ResponseWriter)
	}
	if late {
		a.leave()
	}

	a.mu.Lock()
	defer a.mu.Unlock()
	a.slow = a.slow || slow
	a.ended = a.ended || stuck
	a.due = false
	if !a.began.IsZero() {
		a.lookLaterLocked(time.Since(a.began))
	}
}

// end returns when nobody looks any more, because nobody may use a ResponseWriter after the handler.
func (a *answer) end() {
	a.mu.Lock()
	a.ended = true
	if a.due && a.timer.Stop() {
		a.looks.Done()
	}
	a.mu.Unlock()
	a.looks.Wait()
	if a.slow {
		a.limiter.slow.close(a.space)
	}
}
