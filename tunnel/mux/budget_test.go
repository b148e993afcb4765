package mux

import (
	"math"
	"testing"
)

// What children open takes half of a budget, and leaves the other half to what is opened to them.
func TestChildrenTakeHalfOfABudget(t *testing.T) {
	b := NewBudget(100)
	take := func(want int, share float64, child bool) {
		t.Helper()
		n := 0
		for b.take(1, share, child) {
			n++
		}
		if n != want {
			t.Errorf("taken %d, want %d", n, want)
		}
	}
	take(37, extraShare, true)
	take(13, 1, true)
	take(25, extraShare, false)
	take(25, 1, false)
	b.release(50, true)
	take(50, 1, true)
	if b.Used() != 100 || b.child != 50 {
		t.Errorf("used %d, %d of children", b.Used(), b.child)
	}
}

// What all streams of a connection promise is within its window, whatever a Budget is asked for: nobody waits
// for a stream that is not read.
func TestTheWindowsOfAllStreamsFit(t *testing.T) {
	b := NewBudget(math.MaxInt)
	if b.total != MaxBudget || b.total >= Data.ConnectionWindow || int64(Data.ConnectionWindow) > 1<<31-1 {
		t.Errorf("a budget has %d, the connection's window is %d", b.total, Data.ConnectionWindow)
	}
}
