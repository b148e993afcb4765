package walk

import (
	"fmt"
	"sync"
	"time"
)

// history remembers what happened to each object, and the faults: what is told of a failure is only
// what concerns it.
type history struct {
	began time.Time

	mu      sync.Mutex
	objects map[string][]string
	faults  []string
}

// Of an object the last lines are kept, of the faults those of the last cycles.
const (
	objectLines = 40
	faultLines  = 24
)

func newHistory() *history { return &history{began: time.Now(), objects: map[string][]string{}} }

func (h *history) line(format string, args ...any) string {
	return fmt.Sprintf("%9.3fs  ", time.Since(h.began).Seconds()) + fmt.Sprintf(format, args...)
}

func (h *history) object(key, format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.objects[key] = last(append(h.objects[key], h.line(format, args...)), objectLines)
}

func (h *history) fault(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults = last(append(h.faults, h.line(format, args...)), faultLines)
}

func last(lines []string, n int) []string { return lines[max(0, len(lines)-n):] }

// of returns the lines of one object.
func (h *history) of(key string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.objects[key]...)
}

func (h *history) ofFaults() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.faults...)
}
