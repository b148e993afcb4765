package period

import (
	"errors"
	"testing"
	"time"
)

func TestDurationsMayHaveDays(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"7d": 7 * Day, "1d12h": 36 * time.Hour, "0d": 0, "-1d": -Day, "90s": 90 * time.Second, "1h30m": 90 * time.Minute,
		"1.5h": 90 * time.Minute, "+2d": 2 * Day, "0": 0, "-5m": -5 * time.Minute, "1d1ns": Day + 1,
	} {
		if got, err := Parse(text); got != want || err != nil {
			t.Errorf("%q is %s (%v), want %s", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "d", "7", "7 d", "1d24h", "1d-1h", "1d+1h", "1d2d", "1.5d", "--1d", "106752d", "99999999999d", "1w", "soon",
	} {
		if got, err := Parse(text); !errors.Is(err, ErrSyntax) {
			t.Errorf("%q is %s (%v)", text, got, err)
		}
	}
}

func TestFormatIsReadAgain(t *testing.T) {
	for d, want := range map[time.Duration]string{
		30 * Day: "30d", Day: "24h", 36 * time.Hour: "36h", 10 * time.Minute: "10m", 90 * time.Second: "1m30s",
		0: "0s", 61 * time.Minute: "1h1m", 2*Day + time.Second: "48h0m1s", 10 * time.Second: "10s", 100 * time.Hour: "100h",
	} {
		if got := Format(d); got != want {
			t.Errorf("%s is %q, want %q", time.Duration(d), got, want)
		}
		if got, err := Parse(want); got != d || err != nil {
			t.Errorf("%q is read as %s (%v)", want, got, err)
		}
	}
}

func TestValueIsAFlag(t *testing.T) {
	v := Value(time.Hour)
	if err := v.Set("soon"); err == nil || v != Value(time.Hour) {
		t.Errorf("a bad text makes it %s (%v)", v.String(), err)
	}
	if err := v.Set("7d"); err != nil || v.String() != "168h0m0s" {
		t.Errorf("it is %s (%v)", v.String(), err)
	}
}
