package fleet

import (
	"fmt"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// ago is "3m ago", or the time. A time that lies in the future, because this machine's clock is
// behind, is now.
func (c Clock) ago(t time.Time) string {
	if c.Stamps {
		return t.UTC().Format(time.RFC3339)
	}
	return duration.HumanDuration(max(0, c.Now.Sub(t))) + " ago"
}

// lasting is "for 3m", or since when.
func (c Clock) lasting(t time.Time) string {
	if c.Stamps {
		return "since " + t.UTC().Format(time.RFC3339)
	}
	return "for " + duration.HumanDuration(max(0, c.Now.Sub(t)))
}

func places(names []string) string { return orElse(strings.Join(names, ", "), "nowhere") }

func orElse(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

// Counted is "1 site" or "3 sites".
func Counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// first joins the first names of a list, and says how many more there are.
func first(names []string, n int) string {
	if len(names) <= n {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
}

func condition(t *v1alpha1.SyncTarget, kind string) *metav1.Condition {
	return apimeta.FindStatusCondition(t.Status.Conditions, kind)
}

// silence is since when nothing has been heard of a connected target; it is false while it is
// heard.
func silence(t *v1alpha1.SyncTarget) (time.Time, bool) {
	c := condition(t, v1alpha1.ConditionConnected)
	if c == nil || c.Status != metav1.ConditionTrue || c.Reason != v1alpha1.ReasonSilent || t.Status.LastSeen == nil {
		return time.Time{}, false
	}
	return t.Status.LastSeen.Time, true
}

func connected(t *v1alpha1.SyncTarget) bool {
	return apimeta.IsStatusConditionTrue(t.Status.Conditions, v1alpha1.ConditionConnected)
}

// joined reports whether the agent of a target has ever had a session. A center that has waited for one
// in vain says so by a condition.
func joined(t *v1alpha1.SyncTarget) bool {
	c := condition(t, v1alpha1.ConditionConnected)
	return c != nil && (c.Status == metav1.ConditionTrue || c.Reason != "NoSession" || t.Status.LastSeen != nil)
}

func kind(t *v1alpha1.SyncTarget) string {
	if t.Status.Relay {
		return "relay"
	}
	return "cluster"
}

// states are the words for what is wrong with a site, by the type of the problem.
var states = map[string]string{
	notJoined:                          "not joined",
	v1alpha1.ConditionConnected:        "not connected",
	silent:                             "silent",
	held:                               "holds",
	refuses:                            "refuses",
	v1alpha1.ConditionCenterTrusted:    "holds",
	v1alpha1.ConditionSynced:           "not synced",
	v1alpha1.ConditionSubtreeHealthy:   "trouble below",
	v1alpha1.ConditionUnique:           "there twice",
	v1alpha1.ConditionReportsKept:      "reports too much",
	v1alpha1.ConditionWithinBudget:     "budget used",
	v1alpha1.ConditionWithinBounds:     "over its bounds",
	v1alpha1.ConditionDrained:          "draining",
	v1alpha1.ConditionCapacityKnown:    "capacity unknown",
	v1alpha1.ConditionClockInSync:      "clock wrong",
	v1alpha1.ConditionCertificateValid: "certificate",
	v1alpha1.ConditionTargetReachable:  "cluster unreachable",
	v1alpha1.ConditionStoreHealthy:     "store",
	v1alpha1.ConditionLeaseHeld:        "lease ended",
	v1alpha1.ConditionLeaseConfirmed:   "lease not confirmed",
	v1alpha1.ConditionStable:           "unstable",
	v1alpha1.ConditionVersionAsWished:  "other version",
}

// state is a site in a word or two: its worst problem, or "ok".
func state(problems []Problem) string {
	if len(problems) == 0 {
		return "ok"
	}
	worst := slices.MinFunc(problems, worse)
	return orElse(states[worst.Kind], worst.Kind)
}
