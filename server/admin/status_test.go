package admin

import (
	"testing"
	"time"
)

func TestLinkColumns(t *testing.T) {
	now := time.Date(2026, 11, 21, 23, 59, 0, 0, time.UTC)
	today := map[string]any{"date": "2026-11-21", "down": int64(1_234_567), "up": int64(999)}
	for _, c := range []struct {
		obj  map[string]any
		want string
	}{
		{map[string]any{}, "\tlan\t0 B\t0 B\t0 B"},
		{map[string]any{"spec": map[string]any{"link": map[string]any{"class": "metered"}},
			"status": map[string]any{"bytesToday": today, "pendingBytes": int64(20_480)}}, "\tmetered\t1.23 MB\t999 B\t20.5 kB"},
	} {
		if got := linkColumns(c.obj, now); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if got := linkColumns(map[string]any{"status": map[string]any{"bytesToday": today}}, now.Add(time.Minute)); got != "\tlan\t0 B\t0 B\t0 B" {
		t.Errorf("yesterday's bytes are today's: %q", got)
	}
}

func TestBelowColumn(t *testing.T) {
	relay := map[string]any{"status": map[string]any{"below": map[string]any{"targets": int64(12), "connected": int64(9)}}}
	for _, c := range []struct {
		obj       map[string]any
		connected bool
		want      string
	}{
		{relay, true, "9/12"},
		{relay, false, "?/12"},
		{map[string]any{"status": map[string]any{"below": map[string]any{"troubled": int64(3)}}}, true, "-"},
		{map[string]any{}, true, "-"},
	} {
		if got := below(c.obj, c.connected); got != c.want {
			t.Errorf("%v: %q, want %q", c.obj, got, c.want)
		}
	}
}
