package destination

import (
	"testing"
	"time"
)

func TestNames(t *testing.T) {
	n := Name{Center: "00ff", Made: time.Date(2026, 11, 25, 2, 30, 0, 0, time.UTC)}
	if n.String() != "skerry-00ff-20261125T023000Z.skerry" {
		t.Error(n)
	}
	if got, ok := ParseName(n.String()); !ok || got != n {
		t.Errorf("%+v, %v", got, ok)
	}
	for _, other := range []string{"", "skerry-.skerry", "skerry--20261125T023000Z.skerry", "skerry-00FF-20261125T023000Z.skerry",
		"skerry-00ff-20261125T023000Z.skerry.tmp", "skerry-00ff-20261325T023000Z.skerry", "a/skerry-00ff-20261125T023000Z.skerry",
		"skerry-00ff-20261125T023000.5Z.skerry", "state.skerry", ".skerry-backup-00ff", "skerry-00ff-20261125T023000Z-2.skerry"} {
		if n, ok := ParseName(other); ok {
			t.Errorf("%q is taken for %+v", other, n)
		}
	}
}

func FuzzParseName(f *testing.F) {
	f.Add("skerry-00ff-20261125T023000Z.skerry")
	f.Fuzz(func(t *testing.T, text string) {
		if n, ok := ParseName(text); ok && n.String() != text {
			t.Errorf("%q is the name %q", text, n)
		}
	})
}
