package fleet

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
)

var now = time.Date(2026, 11, 21, 23, 59, 0, 0, time.UTC)

// site is a SyncTarget with conditions, written "Type=Status/Reason: message".
func site(name string, lastSeen time.Time, conditions ...string) v1alpha1.SyncTarget {
	t := v1alpha1.SyncTarget{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if !lastSeen.IsZero() {
		t.Status.LastSeen = &metav1.Time{Time: lastSeen}
	}
	for _, text := range conditions {
		kind, rest, _ := strings.Cut(text, "=")
		status, rest, _ := strings.Cut(rest, "/")
		reason, message, _ := strings.Cut(rest, ": ")
		t.Status.Conditions = append(t.Status.Conditions, metav1.Condition{Type: kind,
			Status: metav1.ConditionStatus(status), Reason: reason, Message: message})
	}
	return t
}

func snapshot(sites ...v1alpha1.SyncTarget) *Snapshot {
	return &Snapshot{Center: "center:7443", Sites: sites, Clock: Clock{Now: now}}
}

func printed(t *testing.T, p Page) string {
	t.Helper()
	var out strings.Builder
	if err := p.Print(&out); err != nil {
		t.Fatal(err)
	}
	return strings.TrimRight(out.String(), "\n")
}

func TestLastSeenColumn(t *testing.T) {
	for _, c := range []struct {
		site v1alpha1.SyncTarget
		want string
	}{
		{site("a", now.Add(-50*time.Second), "Connected=True/SessionOpen"), "True now"},
		{site("a", now.Add(time.Hour), "Connected=True/SessionOpen"), "True now"},
		{site("a", now.Add(-20*time.Second), "Connected=True/Silent"), "Silent 20s 20s ago"},
		{site("a", now.Add(-3*time.Minute), "Connected=False/NoSession"), "False 3m ago"},
		{site("a", now.Add(time.Hour), "Connected=False/NoSession"), "False 0s ago"},
		{site("a", time.Time{}), "Unknown never"},
	} {
		clock := Clock{Now: now}
		if got := clock.connection(&c.site) + " " + clock.lastSeen(&c.site); got != c.want {
			t.Errorf("%+v: %q, want %q", c.site.Status, got, c.want)
		}
	}
}

// troubled are two sites with nearly all that can be wrong.
func troubled() (paris, rome v1alpha1.SyncTarget) {
	paris = site("paris", now.Add(-20*time.Second),
		"Connected=True/Silent: nothing is heard",
		"Synced=False/Forbidden: 403",
		"TargetReachable=False/Forbidden: 403",
		"StoreHealthy=False/DiskRefuses: the disk is full: make space, it goes on by itself",
		"ClockInSync=False/Behind: an hour. Set the clock: timedatectl set-ntp true",
		"Novel=False/Strange: who knows",
		"CertificateValid=True/Valid: fine",
	)
	paris.Status.Objects, paris.Status.Refused = 9, 3
	paris.Status.Refusals = []v1alpha1.Refusal{{Object: "shop/core/configmaps/web/one", Reason: "Invalid", Message: "no"}}
	rome = site("rome", now, "Connected=True/SessionOpen", "Synced=True/UpToDate")
	move := v1alpha1.MoveUnderWay{Object: "shop/core/namespaces/_/web", From: []string{"paris"}, To: []string{"rome"},
		Since: &metav1.Time{Time: now.Add(-time.Minute)}, Phase: "Waiting", Message: "rome is not ready"}
	paris.Status.Moves, rome.Status.Moves = []v1alpha1.MoveUnderWay{move}, []v1alpha1.MoveUnderWay{move}
	return paris, rome
}

// Below the table, every condition that is False is told once, and so is what is refused and moves.
func TestOverview(t *testing.T) {
	paris, rome := troubled()
	p := Overview(snapshot(paris, rome), false)
	p.Head, p.Rows = nil, nil
	want := `paris does not reach its cluster: 403; look at the cluster on the site, kubectl get --raw /readyz, and at the agent's rights, skerry agent rbac
paris cannot keep what it is sent: the disk is full: make space, it goes on by itself
paris refuses 3 of 9 objects:
  shop/core/configmaps/web/one (Invalid): no
  and 2 more: skerry status paris
paris has a clock that is wrong: an hour. Set the clock: timedatectl set-ntp true
paris is silent for 20s: the link, or the machine, may be down; what runs there goes on; wait a minute; if it stays so, look at the link and the machine of paris
paris has the condition Novel=False (Strange): who knows; see: kubectl describe synctarget paris
shop/core/namespaces/_/web moves from paris to rome for 60s (Waiting): rome is not ready`
	if got := printed(t, p); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Each problem has a cause and one thing to do, which is not said twice.
func TestProblems(t *testing.T) {
	for _, c := range []struct {
		site                  v1alpha1.SyncTarget
		kind, cause, do, word string
	}{
		{site("a", time.Time{}), "NotJoined", "is not connected: its agent has not dialled yet",
			"look at its agent on the site: systemctl status skerry-agent, journalctl -u skerry-agent", "not joined"},
		{site("a", time.Time{}, "Connected=False/NoSession: x"), "NotJoined",
			"is not connected: its agent has not dialled yet",
			"look at its agent on the site: systemctl status skerry-agent, journalctl -u skerry-agent", "not joined"},
		{site("a", now, "Connected=False/NoSession: the agent has no session; what runs there goes on. On the site see: "+
			"systemctl status skerry-agent"), "Connected", "is not connected: the agent has no session; what runs there goes on",
			"on the site see: systemctl status skerry-agent", "not connected"},
		{site("a", now, "Connected=False/Revoked: the key was revoked. To let it back: skerry target release a"), "Connected",
			"is not connected: the key was revoked", "to let it back: skerry target release a", "not connected"},
		{site("a", now, "Connected=False/ClusterKnown: the cluster is b here"), "Connected",
			"is not connected: the cluster is b here",
			"on the site see: systemctl status skerry-agent, journalctl -u skerry-agent", "not connected"},
		{site("a", now, "Connected=True/SessionOpen", "Synced=False/Behind: changes are on their way"), "Synced",
			"is not synced: changes are on their way", "see what it waits for: skerry status a", "not synced"},
		{site("a", now, "Connected=True/SessionOpen", "WithinBudget=False/BudgetUsed: daily budget used"), "WithinBudget",
			"has used up its link's budget: daily budget used",
			"wait, or raise spec.link.bytesPerDay: kubectl edit synctarget a", "budget used"},
		{site("a", now, "Connected=True/SessionOpen", "SubtreeHealthy=False/SitesHold: b holds"), "SubtreeHealthy",
			"is a relay with trouble below: b holds", "at the relay a: skerry status --problems", "trouble below"},
		{site("a", now, "Connected=True/SessionOpen", "StoreHealthy=False/Refilling: the store was lost"), "StoreHealthy",
			"cannot keep what it is sent: the store was lost", "wait: the store is filled again by itself", "store"},
	} {
		got := Problems(snapshot(c.site))
		if len(got) != 1 || got[0].Kind != c.kind || got[0].Cause != "a "+c.cause || got[0].Do != c.do {
			t.Errorf("%+v\n got %+v\nwant %s %s / %s", c.site.Status.Conditions, got, c.kind, c.cause, c.do)
		}
		if word := state(got); word != c.word {
			t.Errorf("the state is %q, want %q", word, c.word)
		}
	}
	relay := site("a", now, "Connected=False/ClusterKnown: the cluster is b here")
	relay.Status.Relay = true
	if got := Problems(snapshot(relay)); len(got) != 1 || strings.Contains(got[0].Do, "skerry-agent") {
		t.Errorf("a relay, which has no service skerry-agent, has %+v", got)
	}
	holding := site("a", now, "Connected=True/SessionOpen", "Synced=False/DeletionsHeld: 17", "CenterTrusted=False/x: y")
	holding.Status.Held = &v1alpha1.SyncTargetHeld{Reason: "DeletionsHeld", Message: "17 of 20 objects"}
	got := Problems(snapshot(holding))
	if len(got) != 1 || got[0].Do != "see what accepting would do: skerry target accept a --dry-run" {
		t.Errorf("a site that holds has %+v", got)
	}
	if healthy := site("a", now, "Connected=True/SessionOpen", "Synced=True/UpToDate"); len(Problems(snapshot(healthy))) > 0 {
		t.Error("a healthy site has problems")
	}
	for _, r := range remedies {
		if r.do == "" || r.mark != "" && strings.HasSuffix(r.mark, " ") {
			t.Errorf("%+v says nothing to do", r)
		}
	}
}

func TestMoves(t *testing.T) {
	paris, rome := troubled()
	given := v1alpha1.MoveUnderWay{Object: "shop/core/namespaces/_/db", From: []string{"paris"}, To: []string{"rome"},
		Phase: "VolumeWouldStay", Message: "data would be left behind on paris; to let the rest move, pin it"}
	rome.Status.Moves = append(rome.Status.Moves, given)
	s := snapshot(paris, rome)
	s.Ended = []Move{EndedMove("shop/core/namespaces/_/old", "Moved", "ready on a,b, left c", metav1.NewTime(now.Add(-time.Hour)))}
	want := `OBJECT                       FROM    TO     PHASE             SINCE     WAITS-FOR
shop/core/namespaces/_/web   paris   rome   Waiting           60s ago   rome is not ready
shop/core/namespaces/_/db    paris   rome   VolumeWouldStay   -         data would be left behind on paris; to let the rest move, pin it
shop/core/namespaces/_/old   c       a, b   Moved             60m ago   ready on a,b, left c`
	if got := printed(t, MovePage(s)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	s.Sites[0].Status.MovesTotal = 38
	if got := printed(t, MovePage(s)); !strings.Contains(got, "and 37 more from or to paris: its status names those that") {
		t.Errorf("what is not named is not counted: %s", got)
	}
	stuck := MoveProblems(s)
	if len(stuck) != 1 || stuck[0].Do != "to let the rest move, pin it" || strings.Contains(stuck[0].Cause, "pin it") {
		t.Errorf("the moves that are stuck: %+v", stuck)
	}
	for message, want := range map[string]string{
		"ready on b, leaving a": "[a] [b]", "ready on b,c, left a": "[a] [b c]", "gone from a, placed on b": "[a] [b]",
		"not moved to b, kept on a: b is late": "[a] [b]", "back on a": "[] []",
	} {
		m := EndedMove("x", "Moved", message, metav1.NewTime(now))
		if got := fmt.Sprint(m.From, " ", m.To); got != want {
			t.Errorf("%s: %s, want %s", message, got, want)
		}
	}
	given.Phase = "GivenUp"
	rome.Status.Moves = []v1alpha1.MoveUnderWay{given}
	s = snapshot(rome)
	s.Ended = []Move{EndedMove(given.Object, "MoveGivenUp", "not moved to b, kept on a: late", metav1.NewTime(now))}
	if got := Moves(s); len(got) != 1 || got[0].Ended {
		t.Errorf("a move that was given up is told twice: %+v", got)
	}
	if got := printed(t, MovePage(snapshot())); !strings.Contains(got, "Nothing moves") {
		t.Errorf("without moves: %s", got)
	}
}

// A fleet of 10,000 sites is summed up, with its worst sites by name.
func TestLargeFleet(t *testing.T) {
	var sites []v1alpha1.SyncTarget
	for i := range 10_000 {
		s := site(fmt.Sprintf("store-%05d", i), now, "Connected=True/SessionOpen", "Synced=True/UpToDate")
		s.Status.Objects, s.Status.Applied = 2, 2
		switch {
		case i == 4711:
			s.Status.Held = &v1alpha1.SyncTargetHeld{Reason: "DeletionsHeld"}
		case i%10 == 3:
			s = site(s.Name, now.Add(-time.Hour), "Connected=False/NoSession: no session. On the site see: the log")
		}
		sites = append(sites, s)
	}
	s := snapshot(sites...)
	p := Overview(s, false)
	if len(p.Rows) != Worst || p.Rows[0].Cells[0] != "store-04711" || p.Rows[1].Cells[0] != "store-00003" {
		t.Errorf("%d rows, the first is %v", len(p.Rows), p.Rows[0])
	}
	got := printed(t, p)
	for _, want := range []string{"10000 sites (0 relays): 9000 connected, 1000 not; 18000 objects: 18000 applied",
		"1000 sites: not connected (NoSession): store-00003, store-00013, store-00023, store-00033, store-00043 and 995 more",
		"of store-00003: on the site see: the log", "store-04711 holds (DeletionsHeld)", "skerry target list"} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q:\n%s", want, got)
		}
	}
	if rows := len(ProblemPage(Problems(s)).Rows); rows != 2 {
		t.Errorf("the problems of 10,000 sites are %d lines", rows)
	}
	if text := printed(t, ProblemPage(Problems(s))); strings.Count(text, "\n    of ") != 1 ||
		strings.Count(text, "\n    do: ") != 1 {
		t.Errorf("what to do is not on a line of its own:\n%s", text)
	}
	if rows := len(Tree(s).Page(s.Clock).Rows); rows != Many+2 {
		t.Errorf("the tree has %d rows", rows)
	}
	began := time.Now()
	Overview(s, true)
	t.Logf("an overview of 10,000 sites takes %s", time.Since(began).Round(time.Millisecond))
}

func TestSite(t *testing.T) {
	paris, _ := troubled()
	perDay := resource.MustParse("5Mi")
	paris.Spec.Link = &v1alpha1.Link{Class: v1alpha1.LinkMetered, BytesPerDay: &perDay, QuietHours: "02:00-04:00"}
	paris.Status.BytesToday = &v1alpha1.BytesToday{Date: "2026-11-21", Down: 1_234_567, Up: 999, Budgeted: 524_288}
	paris.Status.Held = &v1alpha1.SyncTargetHeld{Reason: "DeletionsHeld", Deletions: 17, Objects: 20, First: []string{"shop/x"}}
	paris.Status.Identity = &v1alpha1.SyncTargetIdentity{CertificateUntil: metav1.NewTime(now.Add(50 * time.Hour)), Authority: "ca-1"}
	paris.Status.Cluster = &v1alpha1.SyncTargetCluster{Nodes: 3, Ready: 2, OperatingSystem: "linux", Architecture: "arm64"}
	paris.Status.Policy = &v1alpha1.SyncTargetPolicy{Controllers: []string{"shop", "bank"}, TakeOver: true}
	paris.CreationTimestamp = metav1.NewTime(now.Add(-24 * time.Hour))
	got := printed(t, Site(snapshot(paris), &paris))
	for _, want := range []string{"paris (cluster), joined 24h ago", "metered, no session, budget 5.24 MB a day, quiet hours 02:00-04:00",
		"down 1.23 MB, up 999 B, 10 % of the budget", "9 desired: 0 applied, 3 refused, 6 not reported yet",
		"refused: shop/core/configmaps/web/one (Invalid): no", "DeletionsHeld: accepting deletes 17", "deletes shop/x", "and 16 more",
		"(2d2h left), of authority ca-1", "3 nodes, 2 ready, linux/arm64", "controllers shop,bank; takeOver true",
		"paris does not reach its cluster: 403\n    do: look at the cluster", "shop/core/namespaces/_/web moves from paris to rome"} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q:\n%s", want, got)
		}
	}
	yesterday := *snapshot(paris)
	yesterday.Clock.Now = now.Add(2 * time.Minute)
	if got := printed(t, Site(&yesterday, &paris)); !strings.Contains(got, "down 0 B, up 0 B, 0 %") {
		t.Errorf("yesterday's bytes are today's:\n%s", got)
	}
}

// Who watches without a terminal reads a line for each change, once.
func TestChanges(t *testing.T) {
	clock := Clock{Now: now, Stamps: true}
	page := func(sites ...v1alpha1.SyncTarget) Page {
		return Overview(&Snapshot{Sites: sites, Clock: clock}, false)
	}
	up := site("a", now, "Connected=True/SessionOpen", "Synced=True/UpToDate")
	down := site("a", now, "Connected=False/NoSession: no session", "Synced=Unknown/NoSession")
	first := page(up, site("b", now, "Connected=True/SessionOpen"))
	if got := first.Changes(Page{}); len(got) != 2 {
		t.Errorf("at first: %q", got)
	}
	if got := page(up, site("b", now, "Connected=True/SessionOpen")).Changes(first); len(got) > 0 {
		t.Errorf("nothing has changed: %q", got)
	}
	second := page(down, site("b", now, "Connected=True/SessionOpen"))
	got := second.Changes(first)
	if len(got) != 2 || !strings.HasPrefix(got[0], "a  False  Unknown") || !strings.HasPrefix(got[1], "a is not connected: no session") {
		t.Errorf("a went: %q", got)
	}
	clock.Now = now.Add(time.Minute)
	if got := page(down, site("b", now, "Connected=True/SessionOpen")).Changes(second); len(got) > 0 {
		t.Errorf("only time has passed: %q", got)
	}
	if got := page(up).Changes(second); len(got) != 3 || !strings.HasPrefix(got[1], "over: b  True") ||
		!strings.HasPrefix(got[2], "over: a is not connected") {
		t.Errorf("a is back, b was removed: %q", got)
	}
}

// What a site writes does nothing to the terminal of an admin, and adds no lines of its own.
func TestPlainText(t *testing.T) {
	bad := "no\x1b[2J\n\u009bparis\tis fine\r"
	s := site("a", now, "Connected=True/SessionOpen", "TargetReachable=False/Down: "+bad)
	s.Status.Objects, s.Status.Refused = 1, 1
	s.Status.Refusals = []v1alpha1.Refusal{{Object: "x\x1b[1m", Reason: "Invalid\a", Message: bad}}
	s.Status.Moves = []v1alpha1.MoveUnderWay{{Object: "o\x1b", Phase: "Waiting", Message: bad}}
	s.Status.KubernetesVersion, s.Labels = "v1\x1b]0;x\a", map[string]string{"tier": "edge"}
	all := snapshot(s)
	for name, p := range map[string]Page{"overview": Overview(all, true), "site": Site(all, &s), "moves": MovePage(all),
		"problems": ProblemPage(Problems(all)), "tree": Tree(all).Page(all.Clock)} {
		text := printed(t, p) + strings.Join(p.Changes(Page{}), "\n")
		if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && unicode.IsControl(r) }); i >= 0 {
			t.Errorf("%s: a control character: %q", name, text)
		}
		if strings.Contains(text, "\nparis is fine") {
			t.Errorf("%s: a line of the site's own: %q", name, text)
		}
	}
}

func TestLinkCells(t *testing.T) {
	today := &v1alpha1.BytesToday{Date: "2026-11-21", Down: 1_234_567, Up: 999}
	metered := site("a", now)
	metered.Spec.Link, metered.Status.BytesToday, metered.Status.PendingBytes = &v1alpha1.Link{Class: "metered"}, today, 20_480
	plain := site("a", now)
	for _, c := range []struct {
		site v1alpha1.SyncTarget
		now  time.Time
		want string
	}{
		{plain, now, "lan,0 B,0 B,0 B"},
		{metered, now, "metered,1.23 MB,999 B,20.5 kB"},
		{metered, now.Add(time.Minute), "metered,0 B,0 B,20.5 kB"},
	} {
		if got := strings.Join(linkCells(&c.site, c.now), ","); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestOverviewNamesTheFirstRefusedAndWhatIsCordoned(t *testing.T) {
	paris, rome := site("paris", now, "Connected=True/SessionOpen"), site("rome", now, "Connected=True/SessionOpen")
	rome.Spec.Unschedulable = true
	rome.Status.Conditions = append(rome.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionTakesReleases,
		Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonHeldAtSite, Message: "held: harvest"})
	paris.Status.Objects, paris.Status.Refused = 9, 7
	for _, name := range []string{"one", "two", "three", "four"} {
		refusal := v1alpha1.Refusal{Object: "shop/" + name, Reason: "Invalid", Message: "no"}
		paris.Status.Refusals = append(paris.Status.Refusals, refusal)
	}
	got := printed(t, Overview(snapshot(paris, rome), false))
	for _, want := range []string{"shop/three (Invalid)", "  and 4 more: skerry status paris",
		"cordoned, so that nothing new is placed there: rome; skerry target uncordon NAME ends it",
		"held, so that they keep the releases that they have: rome; skerry status NAME says by whom"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, v1alpha1.ConditionTakesReleases) {
		t.Errorf("what is wanted so is a problem:\n%s", got)
	}
	if strings.Contains(got, "shop/four") {
		t.Errorf("too many are named:\n%s", got)
	}
	if whole := printed(t, Site(snapshot(rome), &rome)); !strings.Contains(whole, "held: harvest") {
		t.Errorf("it does not say who holds releases:\n%s", whole)
	}
	if whole := printed(t, Site(snapshot(paris), &paris)); !strings.Contains(whole, "shop/four") {
		t.Errorf("the site itself does not name all that are known:\n%s", whole)
	}
}
