package mux

import "testing"

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

// Every stream of a connection may be as large as it can grow, and nobody waits for another; the
// sum is an int on every machine.
func TestTheWindowsOfAllStreamsFit(t *testing.T) {
	if all := Data.ChildStreams*Data.MaxChildWindow +
		Data.ParentStreams*Data.MaxStreamWindow; all > Data.ConnectionWindow ||
		int64(all) > 1<<31-1 {
		t.Errorf("all windows are %d, the connection's %d", all, Data.ConnectionWindow)
	}
}
