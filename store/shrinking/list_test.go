package shrinking

import (
	"runtime"
	"slices"
	"testing"
	"weak"
)

func TestListGivesItsMemoryBack(t *testing.T) {
	for _, c := range []struct{ left, atMost int }{{1000, 1000}, {250, 1000}, {249, 1000}, {1, 4}, {0, 0}} {
		list := make([]*int, 1000)
		for i := range list {
			list[i] = &i
		}
		first := weak.Make(&list[0])
		want := slices.Clone(list[:c.left])
		got := List(list[:c.left])
		if !slices.Equal(got, want) {
			t.Errorf("%d of 1000 are left, and other ones", c.left)
		}
		if cap(got) > max(c.atMost, 4*c.left) {
			t.Errorf("%d of 1000 are left in room for %d", c.left, cap(got))
		}
		list = nil
		runtime.GC()
		if kept := first.Value() != nil; kept != (c.left >= 250) {
			t.Errorf("%d of 1000 are left, and the memory of all is kept: %v", c.left, kept)
		}
		runtime.KeepAlive(got)
	}
}
