package catalog

import (
	"fmt"
	"runtime"
	"testing"
)

// Sets that nothing has are forgotten; those that something has stay what they are.
func TestSetsAreForgotten(t *testing.T) {
	s := newSets()
	kept := s.Of([]string{"a", "b"})
	for i := range 50 * leastSets {
		s.Of([]string{"a", fmt.Sprint(i)})
		if i%leastSets == 0 {
			runtime.GC()
		}
	}
	if n := len(s.known); n > 5*leastSets {
		t.Errorf("%d sets are known, and one is used", n)
	}
	if s.Of([]string{"a", "b"}) != kept {
		t.Error("a set that is used has been made anew")
	}
	runtime.KeepAlive(kept)
}

func TestBoth(t *testing.T) {
	s := newSets()
	abc, bd := s.Of([]string{"a", "b", "c"}), s.Of([]string{"b", "d"})
	if s.Both(abc, bd) != s.Of([]string{"b"}) || s.Both(abc, nil) != nil || s.Both(nil, bd) != nil || s.Both(bd, bd) != bd {
		t.Error("not what two sets have in common")
	}
}
