package admin

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
)

func TestAReviewIsPrintedForPeople(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	since := metav1.NewTime(now.Add(-90 * time.Second))
	r := &v1alpha1.PlacementReview{
		Spec: v1alpha1.PlacementReviewSpec{Without: []string{"eu-1"}},
		Status: v1alpha1.PlacementReviewStatus{
			DecidedBy: v1alpha1.ReviewedPolicy{Kind: "Placement", Name: "web", Priority: 5, Over: []string{"old"}},
			Decision:  []string{"eu-1"}, Wanted: []string{"us-1"}, Since: &since, WaitsFor: "us-1",
			Targets: []v1alpha1.ReviewedTarget{
				{Name: "eu-2", Filter: "CEL", Message: "too small"},
				{Name: "us-1", Chosen: true, Score: 7500, Message: "it refuses some", WaitsFor: "not applied yet"},
				{Name: "us-2", Chosen: true, InUse: true, Filter: "NoScheduleTaint", Message: "tainted"},
			},
			Cut: 3, AlsoOpen: []v1alpha1.ReviewedDoor{{Target: "eu-0", Until: metav1.NewTime(now.Add(time.Hour))}},
			GoesAlong: []v1alpha1.ReviewedCompanion{
				companion("configmaps", "settings", "deployments/web names it"),
				companion("services", "web", "it selects the pods of deployments/web"),
			},
			StaysBehind: []v1alpha1.ReviewedCompanion{companion("networkpolicies", "deny",
				"it selects the pods of deployments/web, and is on eu-1 by its label skerry.dev/target")},
		},
	}
	var out strings.Builder
	if err := printReview(&out, r, now); err != nil {
		t.Fatal(err)
	}
	want := `Decided by  Placement "web" with priority 5; not by Placement old
On          eu-1
Since       2026-01-01T11:58:30Z (1m30s)
Without eu-1 us-1
Waits for   us-1
Also open   at eu-0 until 2026-01-01T13:00:00Z (1h0m0s), for callers from outside; to close it take off skerry.dev/open-until

TARGET   IN USE   CHOSEN   SCORE   WHY
eu-2     no       no       0       CEL: too small
us-1     no       yes      7       it refuses some; waits: not applied yet
us-2     yes      yes      0       NoScheduleTaint: tainted (what is there stays)
and 3 more targets

GOES ALONG            BECAUSE
configmaps/settings   deployments/web names it
services/web          it selects the pods of deployments/web

STAYS BEHIND           BECAUSE
networkpolicies/deny   it selects the pods of deployments/web, and is on eu-1 by its label skerry.dev/target
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestAReviewAsDataHasWhatGoesAlong(t *testing.T) {
	r := &v1alpha1.PlacementReview{Status: v1alpha1.PlacementReviewStatus{
		GoesAlong:   []v1alpha1.ReviewedCompanion{companion("services", "web", "selects")},
		StaysBehind: []v1alpha1.ReviewedCompanion{companion("services", "api", "label")},
	}}
	for output, want := range map[string]string{
		"json": `"goesAlong":[{"object":{"resource":"services","name":"web"},"because":"selects"}],` +
			`"staysBehind":[{"object":{"resource":"services","name":"api"},"because":"label"}]`,
		"yaml": "goesAlong: - because: selects object: name: web resource: services " +
			"staysBehind: - because: label object: name: api resource: services",
	} {
		var out strings.Builder
		err := printData(&out, output, r, nil)
		space := map[string]string{"json": "", "yaml": " "}[output]
		if got := strings.Join(strings.Fields(out.String()), space); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %v\n%s\nwant %s", output, err, got, want)
		}
	}
}

func companion(resource, name, because string) v1alpha1.ReviewedCompanion {
	return v1alpha1.ReviewedCompanion{Object: v1alpha1.ReviewedObject{Resource: resource, Name: name}, Because: because}
}

func TestAReviewWithoutManyTargetsIsReadable(t *testing.T) {
	r := &v1alpha1.PlacementReview{Spec: v1alpha1.PlacementReviewSpec{Without: []string{"eu-1", "eu-2"}},
		Status: v1alpha1.PlacementReviewStatus{Reason: "NoTargets"}}
	var out strings.Builder
	if err := printReview(&out, r, time.Now()); err != nil ||
		!strings.Contains(out.String(), "Without eu-1,eu-2 nothing else fits") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// Messages come from tenants and sites, and the terminal is an admin's.
func TestAReviewHasNothingThatATerminalObeys(t *testing.T) {
	review := &v1alpha1.PlacementReview{Status: v1alpha1.PlacementReviewStatus{
		Reason: evil, Message: evil, WaitsFor: evil, DecidedBy: v1alpha1.ReviewedPolicy{Kind: "Placement", Name: evil},
		Targets:   []v1alpha1.ReviewedTarget{{Name: "paris", Filter: "CEL", Message: evil, WaitsFor: evil}},
		GoesAlong: []v1alpha1.ReviewedCompanion{companion("services", evil, evil)},
	}}
	var b strings.Builder
	if err := printReview(&b, review, time.Now()); err != nil {
		t.Fatal(err)
	}
	harmless(t, b.String())
}

const evil = "\x1b]0;x\x07\x1b[2J\u009b31m\u202ecba\r\b"

func harmless(t *testing.T, text string) {
	t.Helper()
	if strings.ContainsAny(text, "\x1b\x07\u009b\u202e\r\b") || !strings.Contains(text, "paris") {
		t.Errorf("%q", text)
	}
}

// What a site holds back is what an admin is asked to accept: nothing of it looks like the question's own
// words.
func TestWhatIsHeldHasNothingThatATerminalObeys(t *testing.T) {
	var b strings.Builder
	show(&b, []*heldTarget{{Name: "paris", SyncTargetHeld: v1alpha1.SyncTargetHeld{
		Message: evil + "\nIt has 1 objects. Accepting deletes 0", Deletions: 9, First: []string{evil + "\nfake", "a"},
	}}})
	harmless(t, b.String())
	if lines := strings.Count(b.String(), "\n"); lines != 6 {
		t.Errorf("%d lines: %q", lines, b.String())
	}
	b.Reset()
	(&Progress{out: &b}).Step("draining paris: %s", evil)
	DrainOptions{Out: &b}.say("paris stays: %s", evil)
	b.WriteString(Message(fmt.Errorf("paris: %s", evil)))
	harmless(t, b.String())
}
