package share

import "testing"

// TestOpenStreams: a space has so many, and what has ended counts no more.
func TestOpenStreams(t *testing.T) {
	o := &unseated{ofSpace: streamsOfSpace, ofAll: streamsOfAll}
	for range streamsOfSpace {
		if !o.open("shop") {
			t.Fatal("too few")
		}
	}
	if o.open("shop") || !o.open("team") {
		t.Error("not by space")
	}
	o.close("shop")
	o.close("team")
	if !o.open("shop") || len(o.by) != 1 || o.all != streamsOfSpace {
		t.Errorf("%+v", o)
	}
}
