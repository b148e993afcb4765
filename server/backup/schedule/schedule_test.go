package schedule

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var day = time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)

func at(hour, minute int) time.Time {
	return day.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
}

func TestDue(t *testing.T) {
	for _, c := range []struct {
		schedule        string
		last, now, want time.Time
	}{
		{"6h", time.Time{}, at(10, 0), at(10, 0)}, // the first one
		{"6h", at(8, 0), at(10, 0), at(14, 0)},
		{"6h", at(1, 0), at(10, 0), at(10, 0)}, // missed
		{"1d", at(1, 0), at(10, 0), at(25, 0)},
		{"6h", at(20, 0), at(10, 0), at(16, 0)}, // the clock was ahead
		{"30 2 * * *", at(1, 0), at(2, 0), at(2, 30)},
		{"30 2 * * *", at(2, 30), at(2, 31), at(26, 30)},
		{"30 2 * * *", at(-22, 0), at(10, 0), at(10, 0)}, // missed
		{"@daily", at(1, 0), at(10, 0), at(24, 0)},
	} {
		s, err := Parse(c.schedule)
		if err != nil || s.IsZero() {
			t.Fatal(c.schedule, err)
		}
		if got := s.Due(c.last, c.now); !got.Equal(c.want) {
			t.Errorf("%s after %s at %s: due %s, want %s", c.schedule, c.last, c.now, got, c.want)
		}
	}
}

func TestNoSchedule(t *testing.T) {
	for _, text := range []string{"", "soon", "10s", "-1h", "0d", "1.5d", "61 2 * * *", "* * * *", "0 0 30 2 *", "1e9d"} {
		if s, err := Parse(text); err == nil {
			t.Errorf("%q is the schedule %+v", text, s)
		}
	}
	for _, text := range []string{"", "0", "-1", "1s", "many", "2 weeks"} {
		if r, err := ParseRetention(text); err == nil {
			t.Errorf("%q is the retention %+v", text, r)
		}
	}
}

func TestExpired(t *testing.T) {
	made := []time.Time{at(3, 0), at(1, 0), at(4, 0), at(2, 0)}
	for text, want := range map[string][]int{
		"1": {1, 3, 0}, "3": {1}, "4": nil, "9": nil,
		"90m": {1, 3}, "1m": {1, 3, 0}, "30d": nil,
	} {
		r, err := ParseRetention(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Expired(made, at(4, 0)); !slices.Equal(got, want) {
			t.Errorf("keep %s: expired %v, want %v", text, got, want)
		}
	}
}

// The newest backup is kept, whatever the retention and the clock say.
func TestNewestIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		minutes := rapid.SliceOfN(rapid.IntRange(0, 10_000), 1, 20).Draw(t, "made")
		made := make([]time.Time, len(minutes))
		for i, m := range minutes {
			made[i] = at(0, m)
		}
		r := Retention{count: rapid.IntRange(0, 5).Draw(t, "count"),
			age: time.Duration(rapid.IntRange(0, 3).Draw(t, "age")) * time.Hour}
		expired := r.Expired(made, at(0, rapid.IntRange(-10_000, 20_000).Draw(t, "now")))
		newest := slices.MaxFunc(made, time.Time.Compare)
		for i, m := range made {
			if m.Equal(newest) && !slices.Contains(expired, i) {
				return
			}
		}
		t.Fatalf("all of the newest of %v are expired: %v", minutes, expired)
	})
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"6h", "1d", "30 2 * * *", "@daily", "@every 1h", "@every 1s", "TZ=Europe/Berlin 0 1 * * *", "TZ=", "CRON_TZ=x",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err == nil && s.Due(at(0, 0), at(1, 0)).Before(at(1, 0)) {
			t.Errorf("%q is due in the past", text)
		}
		_, _ = ParseRetention(text)
	})
}
