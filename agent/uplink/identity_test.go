package uplink

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/enroll"
)

// The condition says how far the clock is off and since when, and not each second something new.
func TestClockInSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &uplink{
			Config: Config{
				Clock:      enroll.NewClock(enroll.ClockState{}),
				Conditions: &tunnel.Conditions{},
				Log:        slog.New(slog.DiscardHandler),
			},
		}
		said := func() tunnel.Condition {
			u.setClockCondition()
			c, _ := u.Conditions.Get(tunnel.ClockInSync)
			return c
		}
		if c := said(); c.Type != "" {
			t.Errorf("before anything is known: %+v", c)
		}
		began := time.Now()
		for _, step := range []struct {
			offset time.Duration // of the machine
			status string
			text   string
		}{
			{0, tunnel.True, ""}, {29 * time.Second, tunnel.True, ""}, {-29 * time.Second, tunnel.True, ""},
			{2 * time.Hour, tunnel.False, "2h0m0s ahead of"}, {2*time.Hour + 20*time.Second, tunnel.False, "2h0m0s ahead of"},
			{3 * time.Hour, tunnel.False, "3h0m0s ahead of"}, {-time.Hour, tunnel.False, "1h0m0s behind"},
			{time.Second, tunnel.True, ""},
		} {
			u.Clock.Learn(time.Now().Add(-step.offset))
			if c := said(); c.Status != step.status || !strings.Contains(c.Message, step.text) {
				t.Errorf("off by %s: %+v", step.offset, c)
			}
		}
		u.Clock = enroll.NewClock(enroll.ClockState{})
		u.Clock.Learn(began.Add(-time.Hour))
		first := said()
		time.Sleep(10 * time.Hour)
		if again := said(); again != first ||
			!strings.Contains(first.Message, began.Add(-time.Hour).UTC().Format(time.RFC3339)) {
			t.Errorf("ten hours later: %+v, before: %+v", again, first)
		}
	})
}

func TestCertificateCondition(t *testing.T) {
	u := &uplink{
		Config: Config{
			Clock:      enroll.NewClock(enroll.ClockState{}),
			Conditions: &tunnel.Conditions{},
			Log:        slog.New(slog.DiscardHandler),
		},
		credentials: testCredentials(t),
	}
	said := func(err error) tunnel.Condition {
		u.setCertificateCondition(err)
		c, _ := u.Conditions.Get(tunnel.CertificateValid)
		return c
	}
	until := u.credentials.NotAfter().UTC().Format(time.RFC3339)
	if c := said(nil); c.Status != tunnel.True || !strings.Contains(c.Message, until) {
		t.Errorf("%+v", c)
	}
	first := said(errors.New("no member"))
	if first.Status != tunnel.False || first.Reason != "RenewalFailing" ||
		!strings.Contains(first.Message, "no member") ||
		!strings.Contains(first.Message, until) {
		t.Errorf("%+v", first)
	}
	since := u.told.failing
	time.Sleep(time.Millisecond)
	if said(errors.New("no member")); u.told.failing != since {
		t.Error("the second failure counts from anew")
	}
	if c := said(nil); c.Status != tunnel.True || !u.told.failing.IsZero() {
		t.Errorf("after a renewal: %+v", c)
	}
}
