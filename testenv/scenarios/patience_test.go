package scenarios

import (
	"testing"
	"time"
)

func TestPatience(t *testing.T) {
	for value, want := range map[string]time.Duration{"": usualPatience, "1": 1, "4": 4} {
		if got, err := patienceOf(value); got != want || err != nil {
			t.Errorf("%q: %v, %v", value, got, err)
		}
	}
	for _, value := range []string{"0", "-1", "1.5", "much"} {
		if got, err := patienceOf(value); err == nil {
			t.Errorf("%q is taken as %v", value, got)
		}
	}
}
