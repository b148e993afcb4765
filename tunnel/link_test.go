package tunnel

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"
)

// A connection that ended because nothing came was heard of as long ago as that takes.
func TestLastHeard(t *testing.T) {
	now := time.Now()
	for err, ago := range map[error]time.Duration{
		fmt.Errorf("read: %w", os.ErrDeadlineExceeded): Idle,
		errors.New("reset by peer"):                    0,
		ErrDraining:                                    0,
	} {
		if got := now.Sub(LastHeard(now, err)); got != ago {
			t.Errorf("%v: heard of %s before, want %s", err, got, ago)
		}
	}
}
