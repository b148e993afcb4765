package summary

import (
	"encoding/hex"
	"fmt"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/store"
)

// Of what is placed on a target some is applied as it is, some refused, some applied as it was
// before, and of some nothing is said.
func TestTally(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		hash := store.HashBody(1, []byte("now"))
		for i, says := range []*store.Report{
			{OriginUID: "uid-m0", Applied: hex.EncodeToString(hash[:])},
			{OriginUID: "uid-m1", Applied: "00"},
			{OriginUID: "uid-m2", Error: &store.ReportError{Reason: "Forbidden", Message: "the site does not allow it"}},
			{
				OriginUID: "uid-m3",
				Error:     &store.ReportError{Reason: "Invalid", Message: "no"},
				Applied:   hex.EncodeToString(hash[:]),
			},
			nil,
		} {
			k := key("", "configmaps", fmt.Sprintf("m%d", i))
			c.place(k, "v1", "ConfigMap", "paris")
			c.mu.Lock()
			c.hashes[k] = hash
			c.mu.Unlock()
			if says != nil {
				c.says("paris", k, says)
			}
		}
		is := c.s.Tally("paris", 1)
		if is.Applied != 1 || is.Refused != 2 || len(is.First) != 1 || is.First[0].Key.Name != "m2" ||
			is.First[0].Reason != "Forbidden" {
			t.Errorf("%+v", is)
		}
		if other := c.s.Tally("rome", 1); other.Applied+other.Refused != 0 {
			t.Errorf("nothing is placed on rome: %+v", other)
		}
	})
}

func TestTallyHasDeletionsThatAreStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		k := key("", "configmaps", "stays")
		c.says(
			"paris",
			k,
			&store.Report{
				OriginUID: "uid-stays",
				Error:     &store.ReportError{Reason: "WaitingForFinalizers", Message: "example.com/slow"},
			},
		)
		if is := c.s.Tally("paris", 1); is.Refused != 1 || len(is.First) != 1 || is.First[0].Key != k {
			t.Errorf("a deletion that is stuck: %+v", is)
		}
		c.says("paris", k, nil)
		if is := c.s.Tally("paris", 1); is.Refused != 0 {
			t.Errorf("it is done: %+v", is)
		}
	})
}
