package progress

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

func TestStates(t *testing.T) {
	h := hashOf(1)
	applied := hex.EncodeToString(h[:])
	refuse := func(reason string) store.Report {
		return store.Report{Error: &store.ReportError{Reason: reason, Message: "no"}}
	}
	const good = `"synced":2`
	for name, tc := range map[string]struct {
		key    store.Key
		report *store.Report
		ready  string
		counts string
		worst  []string
	}{
		"all good": {ready: "2/2", counts: `{"available":2,` + good + `}`},
		"refused": {key: web, report: ptr(refuse("Forbidden")), ready: "1/2",
			counts: `{"available":1,"failed":1,"synced":1}`, worst: []string{"rome deployments/app/web Forbidden"}},
		"refused in words that a status has no room for": {key: web, report: ptr(refuse("X\x1b[2J" + strings.Repeat("x", 1<<10))),
			ready: "1/2", counts: `{"available":1,"failed":1,"synced":1}`, worst: []string{"rome deployments/app/web Refused"}},
		"conflict": {key: web, report: ptr(refuse("AlreadyExists")), ready: "1/2",
			counts: `{"available":1,"conflicted":1,"failed":1,"synced":1}`,
			worst:  []string{"rome deployments/app/web AlreadyExists"}},
		"drifted": {key: web, report: ptr(refuse("Drifted")), ready: "1/2",
			counts: `{"available":1,"drifted":1,"failed":1,"synced":1}`, worst: []string{"rome deployments/app/web Drifted"}},
		"of another version": {key: web, report: &store.Report{Applied: "00"}, ready: "1/2",
			counts: `{"available":1,"synced":1}`, worst: []string{"rome deployments/app/web NotSynced"}},
		"not available": {key: web, report: &store.Report{Applied: applied,
			Status: json.RawMessage(`{"replicas":2,"updatedReplicas":2,"availableReplicas":1,"unavailableReplicas":1}`)},
			ready: "1/2", counts: `{"available":1,` + good + `}`, worst: []string{"rome deployments/app/web NotAvailable"}},
		"past its deadline": {key: web, report: &store.Report{Applied: applied, Status: json.RawMessage(
			`{"replicas":2,"updatedReplicas":1,"availableReplicas":2,"conditions":[{"type":"Progressing",
				"status":"False","reason":"ProgressDeadlineExceeded"}]}`)}, ready: "1/2",
			counts: `{"available":1,"failed":1,` + good + `}`,
			worst:  []string{"rome deployments/app/web ProgressDeadlineExceeded"}},
		"a Job has failed": {key: job, report: &store.Report{Applied: applied, Status: json.RawMessage(
			`{"failed":1,"conditions":[{"type":"Failed","status":"True","reason":"BackoffLimitExceeded"}]}`)}, ready: "2/2",
			counts: `{"available":2,"failed":1,` + good + `}`, worst: []string{"rome jobs/app/once BackoffLimitExceeded"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCenter(t, "paris", "rome")
				if tc.report != nil {
					c.says("rome", tc.key, *tc.report)
				}
				c.start()
				if worst := c.status(tc.ready, tc.counts); !slices.Equal(worst, tc.worst) {
					t.Errorf("worst: %q, want %q", worst, tc.worst)
				}
				if o := c.clone(); fields.Map(o, "status", "asOf") != nil {
					t.Errorf("nobody is silent: %v", fields.Map(o, "status", "asOf"))
				}
			})
		})
	}
}

func ptr[T any](v T) *T { return &v }

func TestNotReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t, "paris", "rome")
		delete(c.reports, "rome")
		c.start()
		if worst := c.status("1/2", `{"available":1,"synced":1}`); !slices.Equal(worst,
			[]string{"rome deployments/app/web NotReported"}) {
			t.Error(worst)
		}
		c.good("rome", 1)
		if worst := c.status("2/2", `{"available":2,"synced":2}`); len(worst) > 0 {
			t.Error(worst)
		}
	})
}

// A site that is away is stale: what it said last holds, and it has not failed, whatever it said.
func TestAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t, "paris", "rome", "oslo")
		c.says("oslo", web, store.Report{Error: &store.ReportError{Reason: "Forbidden"}})
		c.start()
		c.status("2/3", `{"available":2,"failed":1,"synced":2}`)
		hour, day := time.Now().Add(-time.Hour), time.Now().Add(-24*time.Hour)
		c.silence("rome", hour)
		c.silence("oslo", day)
		worst := c.status("2/3", `{"available":2,"pendingOffline":1,"stale":2,"synced":2}`)
		if !slices.Equal(worst, []string{"oslo <nil> PendingOffline", "rome <nil> Stale"}) {
			t.Error(worst)
		}
		o := c.clone()
		age := fields.Map(o, "status", "asOf")
		if want := day.UTC().Truncate(time.Second).Format(time.RFC3339); age["oldest"] != want || age["p95"] != want {
			t.Errorf("age %v, want %s", age, want)
		}
		if is := condition1(o, "Synced"); is["status"] != "False" || is["reason"] != "Behind" {
			t.Errorf("what a silent site refuses is not known: %v", is)
		}
		c.silence("oslo", time.Time{})
		c.silence("rome", time.Time{})
		if worst := c.status("2/3", `{"available":2,"failed":1,"synced":2}`); !slices.Equal(worst,
			[]string{"oslo deployments/app/web Forbidden"}) {
			t.Error(worst)
		}
		if age := fields.Map(c.clone(), "status", "asOf"); age != nil {
			t.Errorf("all are back: %v", age)
		}
	})
}

// A new version is pending at the site that is away, and comes to count as synced elsewhere.
func TestAwayWhileSomethingChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t, "paris", "rome")
		c.start()
		c.status("2/2", `{"available":2,"synced":2}`)
		c.silence("rome", time.Now().Add(-time.Hour))
		c.mu.Lock()
		for i := range c.content.Objects {
			c.content.Objects[i].Demand.Hash = hashOf(2)
		}
		c.mu.Unlock()
		c.p.Changed(pk, "")
		c.status("0/2", `{"pendingOffline":1,"stale":1}`)
		c.good("paris", 2)
		c.status("1/2", `{"available":1,"pendingOffline":1,"stale":1,"synced":1}`)
	})
}

// An outage counts when it is as old as it must be, without anybody saying so again.
func TestAnOutageGrowsOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t, "paris")
		c.start()
		c.status("1/1", `{"available":1,"synced":1}`)
		since := time.Now().Add(2*time.Second - outageAge).Truncate(time.Second)
		c.silence("paris", since)
		_, before := c.counters()
		c.status("1/1", `{"available":1,"stale":1,"synced":1}`)
		if _, now := c.counters(); now != before+1 {
			t.Errorf("%d writes", now-before)
		}
		if early := time.Until(since.Add(outageAge)); early > 0 {
			t.Errorf("it counted %s before it was old enough", early)
		}
	})
}

func TestOneReportReadsOneTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var targets []string
		for i := range 100 {
			targets = append(targets, fmt.Sprintf("site-%03d", i))
		}
		c := newCenter(t, targets...)
		c.start()
		c.status("100/100", `{"available":100,"synced":100}`)
		read, writes := c.counters()
		for range 50 {
			c.says("site-007", web, store.Report{Error: &store.ReportError{Reason: "Forbidden"}})
		}
		c.status("99/100", `{"available":99,"failed":1,"synced":99}`)
		if now, written := c.counters(); now-read > 4 || written-writes != 1 {
			t.Errorf("%d reports were read, and %d statuses written", now-read, written-writes)
		}
		for range 3 { // the same again is no write
			c.says("site-007", web, store.Report{Error: &store.ReportError{Reason: "Forbidden"}})
			time.Sleep(2 * gather)
		}
		if _, written := c.counters(); written-writes != 1 {
			t.Errorf("%d writes of one status", written-writes)
		}
		c.mu.Lock()
		c.content.Targets = targets[:50]
		c.mu.Unlock()
		c.p.Changed(pk, "")
		c.status("49/50", `{"available":49,"failed":1,"synced":49}`)
	})
}

// At most 20 are named, the oldest of equals, and a restart does not make a problem younger.
func TestWorst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var targets []string
		for i := range 30 {
			targets = append(targets, fmt.Sprintf("site-%02d", i))
		}
		c := newCenter(t, targets...)
		for _, name := range targets[:25] {
			c.says(name, web, store.Report{Applied: "00"})
		}
		c.says("site-29", web, store.Report{Error: &store.ReportError{Reason: "Forbidden"}})
		since := time.Now().Add(-time.Hour).UTC().Truncate(time.Second).Format(time.RFC3339)
		c.object["status"].(map[string]any)["worst"] = []any{map[string]any{"target": "site-24",
			"object": "deployments/app/web", "reason": "NotSynced", "since": since}}
		c.start()
		worst := c.status("4/30", `{"available":4,"failed":1,"synced":4}`)
		want := []string{"site-29 deployments/app/web Forbidden", "site-24 deployments/app/web NotSynced"}
		for _, name := range targets[:18] {
			want = append(want, name+" deployments/app/web NotSynced")
		}
		if !reflect.DeepEqual(worst, want) {
			t.Errorf("%q\nwant %q", worst, want)
		}
		list := fields.List(c.clone(), "status", "worst")
		if is := list[1].(map[string]any)["since"]; is != since {
			t.Errorf("since %v, want %s", is, since)
		}
	})
}

func TestAge(t *testing.T) {
	now := time.Now()
	for _, tc := range []struct {
		selected, silent int
		p95              bool
	}{{1, 1, true}, {20, 1, false}, {20, 2, true}, {100, 5, false}, {100, 6, true}} {
		is := &tally{}
		is.counts.Selected = int32(tc.selected)
		for i := range tc.silent {
			is.silent = append(is.silent, now.Add(-time.Duration(i)*time.Hour))
		}
		got := is.age()
		if (got.P95 != nil) != tc.p95 || !got.Oldest.Time.Equal(now.Add(-time.Duration(tc.silent-1)*time.Hour).Truncate(time.Second)) {
			t.Errorf("%+v: %v", tc, got)
		}
	}
}
