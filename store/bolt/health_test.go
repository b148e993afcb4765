package bolt

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
)

// TestHealthTellsInOrder: the owner may take its time, nobody else waits for it, and it learns the
// latest state. What changed back meanwhile is not told.
func TestHealthTellsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full, failing := &diskError{"a.db", errors.New("full")}, &diskError{"a.db", errors.New("failing")}
		var told []error
		goOn := make(chan struct{})
		h := &health{told: func(err error) {
			told = append(told, err)
			<-goOn
		}}
		h.tell(nil)
		h.tell(errors.New("not of the disk"))
		if len(told) > 0 {
			t.Fatalf("told %v", told)
		}
		go h.tell(full)
		synctest.Wait()
		for _, err := range []error{nil, full, nil, failing} {
			h.tell(err) // returns while the owner is being told
		}
		goOn <- struct{}{}
		synctest.Wait()
		h.tell(full)
		h.tell(failing)
		goOn <- struct{}{}
		synctest.Wait()
		if want := []error{full, failing}; !slices.Equal(told, want) {
			t.Errorf("told %v, want %v", told, want)
		}
		close(goOn)
		h.tell(nil)
		if len(told) != 3 || told[2] != nil {
			t.Errorf("told %v, want that the disk takes writes again", told)
		}
	})
}
