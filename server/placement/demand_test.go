package placement

import (
	"testing"

	"skerry.dev/skerry/store"
)

// TestWhatWasNotAvailableNeedNotBe asks of the next target what the one before had.
func TestWhatWasNotAvailableNeedNotBe(t *testing.T) {
	wish := Demand{UID: "u", Replicas: 3}
	for _, c := range []struct {
		name     string
		had, has Progress
		arrived  bool
	}{
		{"whole, whole", Progress{Ready: true, Available: 3}, Progress{Ready: true, Available: 3}, true},
		{"whole, a part", Progress{Ready: true, Available: 3}, Progress{Available: 2}, false},
		{"a part, as much", Progress{Available: 1}, Progress{Available: 1}, true},
		{"a part, nothing", Progress{Available: 1}, Progress{}, false},
		{"broken, broken", Progress{}, Progress{}, true},
		{"more than is wished", Progress{Ready: true, Available: 5}, Progress{Ready: true, Available: 3}, true},
		{"of another object", Progress{UID: "old"}, Progress{}, false},
		{"broken, refused", Progress{}, Progress{Refused: &store.ReportError{}}, false},
	} {
		if c.had.UID == "" {
			c.had.UID = "u"
		}
		c.has.UID = "u"
		if lacks := c.has.Arrived(wish.From(c.had)); (lacks == "") != c.arrived {
			t.Errorf("%s: %q", c.name, lacks)
		}
	}
	daemons := Demand{UID: "u"} // without replicas
	if lacks := (Progress{UID: "u"}).Arrived(daemons.From(Progress{UID: "u", Available: 2})); lacks == "" {
		t.Error("Pods of a DaemonSet ran on a part of the nodes, and none runs at the next target")
	}
}
