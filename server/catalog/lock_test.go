package catalog

import (
	"slices"
	"sync"
	"testing"
)

// TestAfterIsCalledInOrderWithoutTheLock: what is queued by many is told in the order of their changes, each time
// before Unlock returns, and may read the catalog.
func TestAfterIsCalledInOrderWithoutTheLock(t *testing.T) {
	var l lock
	var told []int
	n := 0
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				l.Lock()
				mine := n
				n++
				l.After(func() {
					l.RLock()
					defer l.RUnlock()
					told = append(told, mine)
				})
				l.Unlock()
				l.giving.Lock()
				if !slices.Contains(told, mine) {
					t.Errorf("%d is not told", mine)
				}
				l.giving.Unlock()
			}
		})
	}
	all.Wait()
	if len(told) != 1600 || !slices.IsSorted(told) {
		t.Errorf("%d were told, in order: %v", len(told), slices.IsSorted(told))
	}
}
