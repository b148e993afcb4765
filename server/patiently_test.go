package server

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestPatiently: what is taken for a moment is waited for, what stays taken is told, and nothing else
// is tried twice.
func TestPatiently(t *testing.T) {
	busy, other := errors.New("busy"), errors.New("other")
	for _, c := range []struct {
		name  string
		fails int
		err   error
		want  error
		tries int
	}{
		{"free", 0, busy, nil, 1}, {"for a moment", 5, busy, nil, 6}, {"always", 1 << 20, busy, busy, 101},
		{"another error", 5, other, other, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			tries, began := 0, time.Now()
			err := patiently(busy, func() error {
				if tries++; tries <= c.fails {
					return fmt.Errorf("take it: %w", c.err)
				}
				return nil
			})
			if !errors.Is(err, c.want) || tries != c.tries || time.Since(began) > patience {
				t.Errorf("%s: %v after %d tries and %v", c.name, err, tries, time.Since(began))
			}
		})
	}
}
