package bolt

import (
	"syscall"
	"testing"
)

// A disk that is nearly full takes small writes while a larger one waits. It is not well before that one
// is made or given up.
func TestHealthWaitsForWhatWasRefused(t *testing.T) {
	var last error
	calls := 0
	h := health{told: func(err error) { last, calls = err, calls+1 }}
	full := &diskError{"a.db", syscall.ENOSPC}
	h.tell(full)
	h.wait(true, full)
	h.wait(true, full)
	h.tell(nil)
	h.wait(false, nil)
	h.tell(nil)
	if last == nil || calls != 1 {
		t.Errorf("with a write that waits %d calls, the last with %v", calls, last)
	}
	h.wait(false, full)
	if h.tell(nil); last != nil || calls != 2 {
		t.Errorf("with none %d calls, the last with %v", calls, last)
	}
}
