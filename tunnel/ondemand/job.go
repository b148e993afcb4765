package ondemand

import "sync"

// Job is work that is done again after each Kick, by one goroutine at a time. Its methods may be
// called concurrently.
type Job struct {
	do func()

	mu      sync.Mutex
	working bool
	again   bool
	ended   chan struct{} // not nil when nothing is to begin any more; closed when nothing runs
}

// NewJob returns a job that runs do when it is kicked.
func NewJob(do func()) *Job { return &Job{do: do} }

// Kick runs the work, from its beginning, after this moment. Kicks that come before it has begun
// count once.
func (j *Job) Kick() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ended != nil {
		return
	}
	j.again = true
	if !j.working {
		j.working = true
		go j.run()
	}
}

func (j *Job) run() {
	Room()
	for j.next() {
		j.do()
	}
}

// next reports whether the work is to be done once more.
func (j *Job) next() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.working = j.again && j.ended == nil
	j.again = false
	if !j.working && j.ended != nil {
		close(j.ended)
	}
	return j.working
}

// End returns when nothing runs; nothing begins after it. It must be called once, and not by the
// work itself.
func (j *Job) End() {
	j.mu.Lock()
	j.ended = make(chan struct{})
	if !j.working {
		close(j.ended)
	}
	ended := j.ended
	j.mu.Unlock()
	<-ended
}

// Apart runs do on a goroutine of its own and waits for it. The stack that do needs goes with that
// goroutine. The caller's stack stays small; otherwise it would keep its size until the next
// garbage collections.
func Apart(do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	return <-done
}
