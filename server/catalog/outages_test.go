package catalog

import (
	"testing"
	"time"

	"skerry.dev/skerry/server/placement"
)

// An outage keeps its beginning whatever becomes of its reason, and is news when its reason is.
func TestOutages(t *testing.T) {
	o, began := NewOutages(), time.Date(2026, 11, 25, 12, 0, 0, 7, time.UTC)
	for i, step := range []struct {
		is   placement.Outage
		out  bool
		news bool
		want time.Time
	}{
		{placement.Outage{}, false, false, time.Time{}},
		{placement.Outage{Reason: placement.OutageSilent, Since: began}, true, true, began.Truncate(time.Second)},
		{placement.Outage{Reason: placement.OutageSilent, Since: began.Add(time.Minute)}, true, false, began.Truncate(time.Second)},
		{placement.Outage{Reason: placement.OutageCluster, Since: began.Add(time.Hour)}, true, true, began.Truncate(time.Second)},
		{placement.Outage{}, false, true, time.Time{}},
		{placement.Outage{Reason: placement.OutageSilent, Since: began.Add(2 * time.Hour)}, true, true,
			began.Add(2 * time.Hour).Truncate(time.Second)},
	} {
		news := o.Set("a", step.is, step.out)
		is, out := o.Outage("a")
		if news != step.news || out != step.out || !is.Since.Equal(step.want) {
			t.Errorf("step %d: news %v, %v since %v", i, news, out, is.Since)
		}
		if _, out := o.Outage("b"); out {
			t.Error("a neighbour has an outage")
		}
	}
}
