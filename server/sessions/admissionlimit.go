package sessions

import (
	"runtime"
	"sync"
	"time"

	"skerry.dev/skerry/tunnel"
)

// Sessions that begin, for each core: a hello is compared, an inbox opened, and often something is
// sent.
const (
	sessionsPerSecond = 150
	sessionsAtOnce    = 150
)

// Bounds of what a site is told that has to wait.
const (
	shortestRetry = 500 * time.Millisecond
	longestRetry  = time.Minute
)

// admissionLimit admits sessions at a rate that the center can serve. Who comes over the rate is
// told when there is a place, one after the other, so that a storm comes back as a queue. It costs
// nothing but the handshake; sessions that stand are not touched.
type admissionLimit struct {
	rate, most float64

	mu     sync.Mutex
	tokens float64
	filled time.Time
	queue  time.Time // the last place that was promised
}

func newAdmissionLimit(rate, most float64) *admissionLimit {
	return &admissionLimit{rate: rate, most: most, tokens: most}
}

// newAdmission is the bucket of this machine.
func newAdmission() *admissionLimit {
	cores := float64(runtime.GOMAXPROCS(0))
	return newAdmissionLimit(sessionsPerSecond*cores, sessionsAtOnce*cores)
}

// admit returns nil, or when to come back.
func (b *admissionLimit) admit(now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.filled.IsZero() {
		b.tokens = min(b.most, b.tokens+b.rate*now.Sub(b.filled).Seconds())
	}
	b.filled = now
	if b.tokens >= 1 {
		b.tokens--
		return nil
	}
	if b.queue.Before(now) {
		b.queue = now
	}
	b.queue = b.queue.Add(time.Duration(float64(time.Second) / b.rate))
	wait := min(longestRetry, max(shortestRetry, b.queue.Sub(now)))
	return &tunnel.Refused{
		Reason:     "Busy",
		RetryAfter: wait,
		Message:    "many sites come at once; this one has its turn soon",
	}
}
