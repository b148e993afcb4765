package sessions

import (
	"reflect"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/delta"
)

func clock(text string) time.Time {
	t, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		panic(err)
	}
	return t
}

func TestQuietHours(t *testing.T) {
	for _, c := range []struct {
		hours, at string
		quiet     bool
	}{
		{"02:00-04:00", "2026-11-21 01:59", false},
		{"02:00-04:00", "2026-11-21 02:00", true},
		{"02:00-04:00Z", "2026-11-21 03:59", true},
		{"02:00-04:00", "2026-11-21 04:00", false},
		{"22:30-04:00", "2026-11-21 23:00", true},
		{"22:30-04:00", "2026-11-21 03:59", true},
		{"22:30-04:00", "2026-11-21 12:00", false},
		{"02:00-04:00+05:30", "2026-11-21 20:30", true}, // 02:00 there
		{"02:00-04:00+05:30", "2026-11-21 22:30", false},
		{"23:00-01:00-02:00", "2026-11-21 01:30", true},
		{"23:00-01:00-02:00", "2026-11-21 00:30", false},
		{"", "2026-11-21 00:00", false},
		{"nonsense", "2026-11-21 00:00", false},
		{"02:00-04:00 Paris", "2026-11-21 03:00", false},
		{"02:00-04:00+99", "2026-11-21 03:00", false},
		{"02:00-04:00+99:00", "2026-11-21 03:00", false},
		{"00:00-24:00", "2026-11-21 03:00", false},
		{"00:00-23:60", "2026-11-21 03:00", false},
	} {
		if got := parseQuietHours(c.hours).at(clock(c.at)); got != c.quiet {
			t.Errorf("%q at %s: quiet %t, want %t", c.hours, c.at, got, c.quiet)
		}
	}
}

func linkOf(link *v1alpha1.Link) target {
	return target{object: &v1alpha1.SyncTarget{}, link: policyOf(link)}
}

func perDay(text string) *resource.Quantity {
	q := resource.MustParse(text)
	return &q
}

// What crosses in the quiet hours does not use up the budget, and a day begins at midnight UTC.
func TestBudgetOfADay(t *testing.T) {
	known := linkOf(&v1alpha1.Link{Class: v1alpha1.LinkMetered, BytesPerDay: perDay("1Mi"), QuietHours: "02:00-04:00"})
	u := newUsage()
	for _, c := range []struct {
		at              string
		down, up        int64
		hold            bool
		total, budgeted int64
	}{
		{"2026-11-21 00:10", 100_000, 400_000, false, 500_000, 500_000},
		{"2026-11-21 01:00", 0, 600_000, true, 1_100_000, 1_100_000},
		{"2026-11-21 02:00", 0, 9_000_000, false, 10_100_000, 1_100_000},
		{"2026-11-21 04:00", 0, 0, true, 10_100_000, 1_100_000},
		{"2026-11-22 00:00", 10, 10, false, 20, 20},
	} {
		at := clock(c.at)
		today := u.add("paris", known, at, crossing{down: c.down, up: c.up}, known.link.quiet.at(at))
		if today.Down+today.Up != c.total || today.Budgeted != c.budgeted {
			t.Errorf("%s: %+v, want %d of which %d count", c.at, today, c.total, c.budgeted)
		}
		if got := known.link.use(at, today.Budgeted); got != (tunnel.Link{Class: delta.Metered, Hold: c.hold}) {
			t.Errorf("%s: %+v, hold %t", c.at, got, c.hold)
		}
	}
	if free := linkOf(nil).link.use(clock("2026-11-21 12:00"), 1<<40); free.Hold {
		t.Error("a link without a budget is held")
	}
}

// A center that restarts goes on counting from the status, of the same day.
func TestUsageSurvivesARestart(t *testing.T) {
	known := linkOf(&v1alpha1.Link{BytesPerDay: perDay("1Mi")})
	known.object.Status.BytesToday = &v1alpha1.BytesToday{Date: "2026-11-21", Down: 7, Up: 5, Budgeted: 11,
		ByPurpose: &v1alpha1.BytesByPurpose{Status: 3, Transport: 9}}
	more := crossing{down: 1, by: v1alpha1.BytesByPurpose{Desired: 1}}
	for at, want := range map[string]v1alpha1.BytesToday{
		"2026-11-21 23:59": {
			Date:      "2026-11-21",
			Down:      8,
			Up:        5,
			Budgeted:  12,
			ByPurpose: &v1alpha1.BytesByPurpose{Desired: 1, Status: 3, Transport: 9},
		},
		"2026-11-22 00:00": {Date: "2026-11-22", Down: 1, Budgeted: 1, ByPurpose: &v1alpha1.BytesByPurpose{Desired: 1}},
	} {
		if got := newUsage().add("paris", known, clock(at), more, false); !reflect.DeepEqual(got, want) {
			t.Errorf("at %s: %+v of %+v, want %+v of %+v", at, got, got.ByPurpose, want, want.ByPurpose)
		}
	}
}

// An admin's budget reaches the session while it runs; the status says so, and what has crossed.
func TestLinkOfASession(t *testing.T) {
	c := newCenter(t)
	c.open()
	s := c.joined("paris")
	l := c.connect(s)
	if w := <-l.welcome; w.Link != (tunnel.Link{}) {
		t.Errorf("the welcome says %+v of the link", w.Link)
	}
	status := func() v1alpha1.SyncTargetStatus { return c.api.status(t, "paris") }
	within(t, "the bytes of a handshake", func() bool {
		is := status()
		return is.BytesToday != nil && is.BytesToday.Down > 500 && is.BytesToday.Up > 500 &&
			is.BytesToday.Date == date(time.Now()) &&
			is.BytesToday.Budgeted == is.BytesToday.Down+is.BytesToday.Up
	})
	by, sum := status().BytesToday.ByPurpose, int64(0)
	for _, n := range byPurpose(by) {
		sum += *n
	}
	if all := status().BytesToday; by.Control == 0 || by.Positions == 0 || by.Transport < 500 || sum < all.Budgeted ||
		sum > all.Budgeted*11/10 {
		t.Errorf("%+v of %+v", by, all)
	}
	if says(status(), v1alpha1.ConditionWithinBudget, "True") {
		t.Error("a condition of a budget that is none")
	}
	patch := func(link string) {
		_, err := must2(
			c.sessions.client(),
		)(
			t,
		).Resource(
			syncTargets,
		).Patch(
			t.Context(),
			"paris",
			types.MergePatchType,
			[]byte(`{"spec":{"link":`+link+`}}`),
			metav1.PatchOptions{},
		)
		must(t, err)
	}
	patch(`{"class":"wan","bytesPerDay":"1Mi"}`)
	within(t, "a budget", func() bool { return says(status(), v1alpha1.ConditionWithinBudget, "True/BytesLeft") })
	patch(`{"bytesPerDay":"100"}`) // the API would refuse so little
	within(
		t,
		"a budget that is used up",
		func() bool { return says(status(), v1alpha1.ConditionWithinBudget, "False/BudgetUsed") },
	)
	if got := c.sessions.session("paris").use.Now(); got != (tunnel.Link{Class: delta.WAN, Hold: true}) {
		t.Errorf("the link is used as %+v", got)
	}
	l.stop()
	<-l.ended
	again := c.connect(s)
	if w := <-again.welcome; w.Link != (tunnel.Link{Class: delta.WAN, Hold: true}) {
		t.Errorf("the next welcome says %+v of the link", w.Link)
	}
	patch("null")
	within(t, "no budget any more", func() bool {
		is := status()
		for _, is := range is.Conditions {
			if is.Type == v1alpha1.ConditionWithinBudget {
				return false
			}
		}
		return true
	})
}

func must2[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		must(t, err)
		return v
	}
}
