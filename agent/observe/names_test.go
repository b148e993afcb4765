package observe

import (
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/agent/target"
)

func TestNamesAreFreeOnlyWhileWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		taken := &target.Object{Metadata: target.Metadata{Namespace: "a", Name: "taken"}}
		n := names{taken: map[uint64]struct{}{}}
		n.add(taken)
		free := func(want bool, when string) {
			t.Helper()
			if got := n.free("a", "other"); got != want {
				t.Errorf("%s: free = %v", when, got)
			}
			if n.free("a", "taken") {
				t.Errorf("%s: a taken name is free", when)
			}
		}
		free(false, "before the list is in")
		n.complete = true
		free(false, "before a watch stands")
		n.since = time.Now()
		free(false, "while the watch may still tell what was missed")
		time.Sleep(settleTime + time.Millisecond)
		free(true, "while watched")
		n.since = time.Time{}
		free(false, "after the watch ended")
		n.since = time.Now().Add(-time.Minute)
		n.remove(taken)
		if !n.free("a", "taken") {
			t.Error("a name that was given back is not free")
		}
	})
}
