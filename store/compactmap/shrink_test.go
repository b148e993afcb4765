package compactmap

import (
	"runtime"
	"slices"
	"testing"
	"weak"
)

func TestShrinkGivesItsMemoryBack(t *testing.T) {
	for _, left := range []int{1000, 250, 249, 1, 0} {
		list := make([]*int, 1000)
		for i := range list {
			list[i] = &i
		}
		first := weak.Make(&list[0])
		want := slices.Clone(list[:left])
		got := Shrink(list[:left])
		if !slices.Equal(got, want) {
			t.Errorf("%d of 1000 are left, and other ones", left)
		}
		if cap(got) > 4*left {
			t.Errorf("%d of 1000 are left in room for %d", left, cap(got))
		}
		list = nil
		runtime.GC()
		if kept := first.Value() != nil; kept != (left >= 250) {
			t.Errorf("%d of 1000 are left, and the memory of all is kept: %v", left, kept)
		}
		runtime.KeepAlive(got)
	}
}
