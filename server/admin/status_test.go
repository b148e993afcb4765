package admin

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// site is a SyncTarget with conditions, written "Type=Status/Reason: message".
func site(name string, lastSeen time.Time, conditions ...string) *v1alpha1.SyncTarget {
	t := &v1alpha1.SyncTarget{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if !lastSeen.IsZero() {
		t.Status.LastSeen = &metav1.Time{Time: lastSeen}
	}
	for _, text := range conditions {
		kind, rest, _ := strings.Cut(text, "=")
		status, rest, _ := strings.Cut(rest, "/")
		reason, message, _ := strings.Cut(rest, ": ")
		t.Status.Conditions = append(
			t.Status.Conditions,
			metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: message},
		)
	}
	return t
}

func TestLastSeenColumn(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		site *v1alpha1.SyncTarget
		want string
	}{
		{site("a", now.Add(-50*time.Second), "Connected=True/SessionOpen"), "True now"},
		{site("a", now.Add(time.Hour), "Connected=True/SessionOpen"), "True now"},
		{site("a", now.Add(-20*time.Second), "Connected=True/Silent"), "Silent 20s 20s ago"},
		{site("a", now.Add(-3*time.Minute), "Connected=False/NoSession"), "False 3m ago"},
		{site("a", now.Add(time.Hour), "Connected=False/NoSession"), "False 0s ago"},
		{site("a", time.Time{}), "Unknown never"},
	} {
		if got := connection(c.site, now) + " " + lastSeen(c.site, now); got != c.want {
			t.Errorf("%+v: %q, want %q", c.site.Status, got, c.want)
		}
	}
}

// Every condition that is False is told, once, and so is what is refused and what moves.
func TestProblems(t *testing.T) {
	now := time.Now()
	paris := site(
		"paris",
		now.Add(-20*time.Second),
		"Connected=True/Silent: nothing is heard",
		"Synced=False/Forbidden: 403",
		"TargetReachable=False/Forbidden: 403",
		"StoreHealthy=False/DiskFull: the disk is full",
		"ClockInSync=False/Behind: an hour",
		"Novel=False/Strange: who knows",
		"CertificateValid=True/Valid: fine",
	)
	paris.Status.Objects, paris.Status.Refused = 9, 3
	paris.Status.Refusals = []v1alpha1.Refusal{{Object: "shop/configmaps/web/one", Reason: "Invalid", Message: "no"}}
	move := v1alpha1.MoveUnderWay{
		Object:  "shop/namespaces//web",
		From:    []string{"paris"},
		To:      []string{"rome"},
		Since:   &metav1.Time{Time: now.Add(-time.Minute)},
		Phase:   "Waiting",
		Message: "rome is not ready",
	}
	rome := site("rome", now, "Connected=True/SessionOpen", "Synced=True/UpToDate")
	paris.Status.Moves, rome.Status.Moves = []v1alpha1.MoveUnderWay{move}, []v1alpha1.MoveUnderWay{move}
	var found problems
	for _, s := range []*v1alpha1.SyncTarget{paris, rome} {
		found.of(s, now)
	}
	want := []string{
		"paris is silent for 20s: the link, or the machine, may be down; what runs there goes on",
		"paris does not reach its cluster: 403",
		"paris cannot keep what it is sent: the disk is full",
		"paris has a clock that is wrong: an hour",
		"paris has the condition Novel=False (Strange): who knows",
		"paris refuses 3 of 9 objects:",
		"  shop/configmaps/web/one (Invalid): no",
		"  and 2 more",
		"shop/namespaces//web moves from paris to rome since 60s (Waiting): rome is not ready",
	}
	if got := strings.Join(found.lines, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

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
	if got := linkColumns(
		map[string]any{"status": map[string]any{"bytesToday": today}},
		now.Add(time.Minute),
	); got != "\tlan\t0 B\t0 B\t0 B" {
		t.Errorf("yesterday's bytes are today's: %q", got)
	}
}

func TestBelowColumn(t *testing.T) {
	relay := map[string]any{
		"status": map[string]any{"below": map[string]any{"targets": int64(12), "connected": int64(9)}},
	}
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

func TestNotReady(t *testing.T) {
	for body, want := range map[string]string{
		"ok": "",
		"[+]ping ok\n[-]store failed: reason withheld\n[+]spaces ok\n[-]center failed: reason withheld\nreadyz check failed\n": "store, center",
	} {
		if got := failures(body); got != want {
			t.Errorf("%q: %q, want %q", body, got, want)
		}
	}
}
