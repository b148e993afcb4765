package sessions

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
)

// reaching drives a reach in a time of its own.
type reaching struct {
	*testing.T
	subtreeReach
	now time.Time
}

func newReaching(t *testing.T) *reaching {
	return &reaching{t, newSubtreeReach(), time.Date(2026, 11, 22, 7, 0, 0, 0, time.UTC)}
}

// seen is a status that says since when a target is connected or not.
func (r *reaching) seen(name string, connected bool, since time.Duration, below *v1alpha1.SyncTargetBelow) {
	status := &v1alpha1.SyncTargetStatus{
		Below: below,
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionConnected, Status: metav1.ConditionFalse,
			LastTransitionTime: metav1.NewTime(r.now.Add(-since))}},
	}
	if connected {
		status.Conditions[0].Status = metav1.ConditionTrue
	}
	r.observe(name, status, r.now)
}

// after lets time pass, and tells what is said by then: targets, connected, names with how long
// they have been away.
func (r *reaching) after(d time.Duration, want string) {
	r.Helper()
	news := false
	for end := r.now.Add(d); ; r.now = r.now.Add(time.Second) {
		news = r.tick(r.now) || news
		if !r.now.Before(end) {
			break
		}
	}
	got := "nothing"
	if news {
		got = fmt.Sprintf("%d/%d", r.said.Connected, r.said.Targets)
		for _, a := range r.said.Away {
			got += fmt.Sprintf(" %s:%s", a.Path, r.now.Sub(time.Unix(a.Since, 0)))
		}
	}
	if got != want {
		r.Errorf("%s: %q, want %q", r.now.Format(time.TimeOnly), got, want)
	}
}

// quiet is longer than any pause.
const quiet = 3 * reachLongest

// Who is gone, or back, for a short time is no news; who is so for longer is.
func TestShortAbsencesAreNotTold(t *testing.T) {
	r := newReaching(t)
	r.seen("oslo", true, time.Hour, nil)
	r.seen("vik", false, time.Hour, nil)
	r.after(0, "1/2 vik:1h0m0s")
	r.seen("oslo", false, 0, nil)
	r.after(awayAfter-time.Second, "nothing")
	r.seen("oslo", true, 0, nil)
	r.after(quiet, "nothing")
	r.seen("oslo", false, 0, nil)
	r.after(awayAfter-time.Second, "nothing")
	r.after(time.Second, "0/2 vik:1h15m59s oslo:30s")
	r.seen("vik", true, 0, nil)
	r.after(backAfter-time.Second, "nothing")
	r.seen("vik", false, 0, nil) // it was heard of meanwhile, which is told when something else is
	r.after(quiet, "0/2 oslo:15m44s vik:15m0s")
	r.seen("vik", true, 0, nil)
	r.after(backAfter, "1/2 oslo:15m59s")
	r.after(quiet, "nothing")
}

// A site whose session is open and that is not heard is away since it was heard last, as its parent's own
// spaces see it: a dead link takes longer than that to end the session.
func TestSilentSitesAreTold(t *testing.T) {
	r := newReaching(t)
	r.seen("oslo", true, time.Hour, nil)
	r.after(0, "1/1")
	heard := metav1.NewTime(r.now)
	r.now = r.now.Add(10 * time.Second)
	r.observe("oslo", &v1alpha1.SyncTargetStatus{LastSeen: &heard, Conditions: []metav1.Condition{{
		Type: v1alpha1.ConditionConnected, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSilent,
		LastTransitionTime: metav1.NewTime(r.now.Add(-time.Hour))}}}, r.now)
	r.after(awayAfter-time.Second, "nothing")
	r.after(time.Second, "0/1 oslo:40s")
	r.observe("oslo", &v1alpha1.SyncTargetStatus{LastSeen: &heard, Conditions: []metav1.Condition{{
		Type: v1alpha1.ConditionConnected, Status: metav1.ConditionFalse, LastTransitionTime: metav1.NewTime(r.now)}}}, r.now)
	r.after(quiet, "nothing") // the session has ended
}

// A relay that starts anew has in the statuses what was so before, and says nothing else while its
// sites come back.
func TestARestartIsNotTold(t *testing.T) {
	r := newReaching(t)
	r.seen("oslo", true, time.Hour, nil)
	r.seen("vik", true, time.Hour, nil)
	r.after(0, "2/2")
	r.after(welcomeBack, "nothing")
	r.seen("oslo", false, 0, nil)
	r.seen("vik", false, 0, nil)
	r.after(20*time.Second, "nothing")
	r.seen("oslo", true, 0, nil)
	r.after(awayAfter-21*time.Second, "nothing")
	r.after(time.Second, "1/2 vik:30s")
	r.seen("oslo", true, 0, nil)
	r.after(quiet, "nothing")
}

// What a relay says of its own sites is counted with it, and not while it is away itself.
func TestReachThroughRelays(t *testing.T) {
	r := newReaching(t)
	targets, connected := int32(3), int32(2)
	below := &v1alpha1.SyncTargetBelow{
		Targets:   &targets,
		Connected: &connected,
		Away:      []v1alpha1.SiteAway{{Path: "fjord/vik", Since: metav1.NewTime(r.now.Add(-time.Hour))}},
	}
	r.seen("nordic", true, time.Hour, below)
	r.seen("older", true, time.Hour, &v1alpha1.SyncTargetBelow{Troubled: 7})
	r.seen("bergen", false, 2*time.Hour, nil)
	r.after(0, "4/6 bergen:2h0m0s nordic/fjord/vik:1h0m0s")
	r.seen("nordic", false, 0, below)
	r.after(awayAfter, "1/6 bergen:2h0m30s nordic:30s")
	r.observe("bergen", &v1alpha1.SyncTargetStatus{}, r.now)
	r.after(quiet, "1/5 nordic:15m30s")
	r.observe(
		"nordic",
		&v1alpha1.SyncTargetStatus{
			Conditions: []metav1.Condition{
				{Type: v1alpha1.ConditionConnected, Status: metav1.ConditionFalse, Reason: revoked},
			},
		},
		r.now,
	)
	r.after(quiet, "1/1")
	r.observe("older", &v1alpha1.SyncTargetStatus{}, r.now)
	r.after(0, "0/0")
	if len(r.of) != 0 || len(r.turning) != 0 {
		t.Errorf("kept of what is gone: %v %v", r.of, r.turning)
	}
}

// However many come and go all the time, it is told seldom, and of few; after a rest soon again.
func TestReachIsBounded(t *testing.T) {
	r := newReaching(t)
	for i := range 1000 {
		r.seen(fmt.Sprintf("site-%03d", i), true, time.Hour, nil)
	}
	r.tick(r.now)
	words := 0
	for second := range 24 * 60 * 60 {
		r.now = r.now.Add(time.Second)
		r.seen(fmt.Sprintf("site-%03d", second%1000), second/1000%2 == 1, 0, nil)
		if r.tick(r.now) {
			words++
			if len(r.said.Away) > tunnel.MaxTroubles {
				t.Fatalf("%d are named", len(r.said.Away))
			}
		}
	}
	if most := 24 * 60 * 60 / int(reachLongest.Seconds()); words > most+5 || words < most/2 {
		t.Errorf("%d words a day, at most %d", words, most)
	}
	for range 1000 {
		r.seen(fmt.Sprintf("site-%03d", len(r.of)), true, 0, nil)
	}
	r.now = r.now.Add(quiet)
	r.tick(r.now)
	r.now = r.now.Add(quiet)
	r.seen("oslo", true, 0, nil)
	if !r.tick(r.now) || r.pause != reachPause {
		t.Errorf("after a rest it waits for %s", r.pause)
	}
}

// The clock of a relay may be set back.
func TestReachWithAClockThatWentBack(t *testing.T) {
	r := newReaching(t)
	r.seen("oslo", false, -24*time.Hour, nil)
	r.after(0, "1/1")
	r.after(awayAfter, "0/1 oslo:-23h59m30s")
}

// The first site of a relay is told at once: as long as the word is that there is none, everything
// below the relay counts as not reachable.
func TestFirstSiteIsToldAtOnce(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	r := newSubtreeReach()
	if !r.tick(now) || r.said.Connected != 0 {
		t.Fatalf("the first word is %+v", r.said)
	}
	joined := &v1alpha1.SyncTargetStatus{
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionConnected, Status: metav1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(now)}},
	}
	r.observe("one", joined, now.Add(time.Second))
	if !r.tick(now.Add(2*time.Second)) || r.said.Connected != 1 {
		t.Errorf("with a site the word is %+v", r.said)
	}
	r.observe("two", joined, now.Add(3*time.Second))
	if r.tick(now.Add(4 * time.Second)) {
		t.Error("a second site does not wait for its turn")
	}

	// What else is told of it is no word that there is no site.
	b := newSubtreeStatus()
	b.tick(now)
	srv := &Server{subtree: b}
	_, changed := srv.Subtree()
	opens := joined.DeepCopy()
	opens.Policy = &v1alpha1.SyncTargetPolicy{Controllers: []string{"shop"}}
	b.observe("one", opens)
	select {
	case <-changed:
	default:
		t.Fatal("a site has joined, and nothing is told")
	}
	if said, _ := srv.Subtree(); !said.Reaches() || len(said.Opened.Controllers) != 1 {
		t.Errorf("the first word of the first site is %+v", said)
	}
}
