package storetest

import (
	"fmt"
	"testing"
	"time"
)

// patience is how long Eventually waits. It is for broken code, not for slow machines.
const patience = 2 * time.Minute

// pollMost is the longest time between two looks. They begin at a millisecond.
const pollMost = 50 * time.Millisecond

// Eventually waits until a condition holds. If that takes two minutes it fails the test, and prints
// the states that are given as they are then.
func Eventually(t testing.TB, what string, is func() bool, states ...func() any) {
	t.Helper()
	every := time.Millisecond
	for end := time.Now().Add(patience); !is(); time.Sleep(every) {
		if time.Now().After(end) {
			text := ""
			for _, state := range states {
				text += fmt.Sprintf("\n%+v", state())
			}
			t.Fatalf("waited %s for this: %s%s", patience, what, text)
		}
		every = min(pollMost, every*5/4)
	}
}
