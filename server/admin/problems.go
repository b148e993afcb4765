package admin

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// problems are the lines below the table of skerry status: what is not as it should be, and what to
// do.
type problems struct {
	lines []string
	moves map[string]bool // a move has several targets
}

func (p *problems) add(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

// known are the words for conditions that are False, after the name of the target. Others are
// printed with their type.
var known = map[string]string{
	v1alpha1.ConditionConnected:        "is not connected",
	v1alpha1.ConditionSynced:           "is not synced",
	v1alpha1.ConditionSubtreeHealthy:   "is a relay with trouble below",
	v1alpha1.ConditionUnique:           "is there twice",
	v1alpha1.ConditionReportsKept:      "reports too much",
	v1alpha1.ConditionWithinBudget:     "has used up its link's budget",
	v1alpha1.ConditionClockInSync:      "has a clock that is wrong",
	v1alpha1.ConditionCertificateValid: "has a certificate that is not valid",
	v1alpha1.ConditionTargetReachable:  "does not reach its cluster",
	v1alpha1.ConditionStoreHealthy:     "cannot keep what it is sent",
}

// of adds the problems of one target: every condition that is False, what it refuses, and the moves
// from and to it.
func (p *problems) of(t *v1alpha1.SyncTarget, now time.Time) {
	st := &t.Status
	if !slices.ContainsFunc(
		st.Conditions,
		func(c metav1.Condition) bool { return c.Type == v1alpha1.ConditionConnected },
	) {
		p.add("%s is not connected: its agent has not dialled yet", t.Name)
	}
	if d, silent := silence(t, now); silent {
		p.add(
			"%s is silent for %s: the link, or the machine, may be down; what runs there goes on",
			t.Name,
			duration.HumanDuration(d),
		)
	}
	if h := st.Held; h != nil {
		p.add(
			"%s holds (%s): %s; see what accepting would do: skerry target accept %s --dry-run",
			t.Name,
			h.Reason,
			h.Message,
			t.Name,
		)
	}
	for _, c := range st.Conditions {
		if c.Status == metav1.ConditionFalse && !repeats(st, c) {
			p.add(
				"%s %s: %s",
				t.Name,
				orElse(known[c.Type], "has the condition "+c.Type+"=False ("+c.Reason+")"),
				c.Message,
			)
		}
	}
	p.refusals(t)
	for _, m := range st.Moves {
		p.move(m, now)
	}
}

// repeats reports whether a condition that is False says only what another line says.
func repeats(st *v1alpha1.SyncTargetStatus, c metav1.Condition) bool {
	if c.Type == v1alpha1.ConditionCenterTrusted {
		return st.Held != nil
	}
	if c.Type != v1alpha1.ConditionSynced {
		return false
	}
	return st.Held != nil || slices.ContainsFunc(st.Conditions, func(other metav1.Condition) bool {
		return other.Type != c.Type && other.Status == metav1.ConditionFalse && other.Reason == c.Reason &&
			other.Message == c.Message
	})
}

func (p *problems) refusals(t *v1alpha1.SyncTarget) {
	if t.Status.Refused == 0 {
		return
	}
	p.add("%s refuses %d of %d objects:", t.Name, t.Status.Refused, t.Status.Objects)
	for _, r := range t.Status.Refusals {
		p.add("  %s (%s): %s", r.Object, r.Reason, r.Message)
	}
	if more := int(t.Status.Refused) - len(t.Status.Refusals); more > 0 {
		p.add("  and %d more", more)
	}
}

func (p *problems) move(m v1alpha1.MoveUnderWay, now time.Time) {
	if p.moves[m.Object] {
		return
	}
	if p.moves == nil {
		p.moves = map[string]bool{}
	}
	p.moves[m.Object] = true
	text := fmt.Sprintf("%s moves from %s to %s", m.Object, places(m.From), places(m.To))
	if m.Since != nil {
		text += " since " + duration.HumanDuration(max(0, now.Sub(m.Since.Time)))
	}
	p.add("%s (%s): %s", text, m.Phase, m.Message)
}

func places(names []string) string { return orElse(strings.Join(names, ", "), "nowhere") }
