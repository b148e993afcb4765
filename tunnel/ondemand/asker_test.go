package ondemand_test

import (
	"testing"

	"skerry.dev/skerry/tunnel/ondemand"
)

// One at a time asks; the others hear when it has an answer, and one of them is next.
func TestOneAsksForAll(t *testing.T) {
	var a ondemand.Asker
	for range 3 {
		end, _ := a.Turn()
		if end == nil {
			t.Fatal("nobody asks, and there is no turn")
		}
		none, asked := a.Turn()
		if none != nil {
			t.Fatal("two ask at a time")
		}
		select {
		case <-asked:
			t.Fatal("there is no answer yet")
		default:
		}
		end()
		<-asked
	}
}
