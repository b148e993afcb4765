package progress

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
)

// tally is all targets of a Placement taken together.
type tally struct {
	counts                   v1alpha1.TargetCounts
	refused, behind, waiting []string // targets, for the messages of conditions
	problems                 []targetProblem
	silent                   []time.Time // since when, of those that are
	due                      time.Time   // when the next one counts as silent
}

type targetProblem struct {
	target string
	problem
}

// tally counts verdicts, and who is silent now.
func (p *Progress) tally(targets []string, verdicts []*verdict, now time.Time) *tally {
	t := &tally{counts: v1alpha1.TargetCounts{Selected: int32(len(targets))}}
	for i, name := range targets {
		v := verdicts[i]
		out, away := p.cfg.Outages.Outage(name)
		if due := out.Since.Add(outageAge); away && due.After(now) {
			away = false
			if t.due.IsZero() || due.Before(t.due) {
				t.due = due
			}
		}
		if away {
			t.counts.Stale++
			t.silent = append(t.silent, out.Since)
		}
		if v == nil { // it came meanwhile, and is judged next
			continue
		}
		count(&t.counts.Synced, v.synced)
		count(&t.counts.Available, v.available)
		count(&t.counts.Failed, !away && (v.refused || v.failing))
		count(&t.counts.Drifted, !away && v.drifts)
		count(&t.counts.Conflicted, !away && v.conflicts)
		count(&t.counts.PendingOffline, away && !v.synced)
		switch {
		case v.synced:
		case v.refused && !away:
			t.refused = append(t.refused, name)
		default:
			t.behind = append(t.behind, name)
		}
		if !v.available {
			t.waiting = append(t.waiting, name)
		}
		if worst := v.worst; away {
			t.problems = append(t.problems, targetProblem{name, absent(name, out, v)})
		} else if worst.severity < fine {
			t.problems = append(t.problems, targetProblem{name, worst})
		}
	}
	slices.Sort(t.refused)
	slices.Sort(t.behind)
	slices.Sort(t.waiting)
	return t
}

func count(n *int32, is bool) {
	if is {
		*n++
	}
}

// absent is the problem of a target that is silent: what it said last may be long over.
func absent(target string, out placement.Outage, v *verdict) problem {
	is := problem{severity: silent, reason: v1alpha1.ProblemStale, message: out.Sentence(target), since: out.Since}
	if !v.synced {
		is.severity, is.reason = pendingOffline, v1alpha1.ProblemPendingOffline
		is.message += "; it gets the latest change when it is back"
	}
	return is
}

// named are the worst problems, in an order that changes little: of equals the oldest first.
func (t *tally) named() (out []v1alpha1.TargetProblem) {
	slices.SortFunc(t.problems, func(a, b targetProblem) int {
		return cmp.Or(cmp.Compare(a.severity, b.severity), second(a.since).Compare(second(b.since).Time),
			cmp.Compare(a.target, b.target))
	})
	for _, p := range t.problems[:min(len(t.problems), v1alpha1.MaxWorst)] {
		out = append(out, v1alpha1.TargetProblem{Target: p.target, Object: p.object, Reason: p.reason, Message: p.message,
			Since: second(p.since)})
	}
	return out
}

func second(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)).Rfc3339Copy() }

// age is how old what is known is; nil while all targets are current.
func (t *tally) age() *v1alpha1.StatusAge {
	if len(t.silent) == 0 {
		return nil
	}
	slices.SortFunc(t.silent, time.Time.Compare) // the oldest first
	oldest := second(t.silent[0])
	is := &v1alpha1.StatusAge{Oldest: &oldest}
	if older := int(t.counts.Selected) * 5 / 100; older < len(t.silent) { // so many may be older than p95
		p95 := second(t.silent[older])
		is.P95 = &p95
	}
	return is
}

// status is the status with all of this, and what others write of it.
func (t *tally) status(was v1alpha1.PlacementStatus, generation int64, now time.Time) v1alpha1.PlacementStatus {
	is := *was.DeepCopy()
	is.Targets = t.counts
	is.Ready = fmt.Sprintf("%d/%d", t.counts.Available, t.counts.Selected)
	is.Worst, is.AsOf = t.named(), t.age()
	for _, c := range t.conditions() {
		c.ObservedGeneration = generation
		c.LastTransitionTime = second(now)
		apimeta.SetStatusCondition(&is.Conditions, c)
	}
	return is
}

func (t *tally) conditions() []metav1.Condition {
	n := t.counts
	synced := condition(v1alpha1.ConditionSynced, n.Synced == n.Selected, "AllSynced")
	switch {
	case n.Selected == 0:
		synced.Status, synced.Reason = metav1.ConditionFalse, "NoTargets"
	case len(t.refused) > 0:
		synced.Reason, synced.Message = "Refused", "refused on "+placement.Some(t.refused)
	case n.Synced < n.Selected:
		synced.Reason, synced.Message = "Behind", "not yet applied on "+placement.Some(t.behind)
	}
	available := condition(v1alpha1.ConditionAvailable, n.Available == n.Selected, "AllAvailable")
	switch {
	case n.Selected == 0:
		available.Status, available.Reason = metav1.ConditionFalse, "NoTargets"
	case n.Available < n.Selected:
		available.Reason, available.Message = "NotAvailable", "not available on "+placement.Some(t.waiting)
	}
	return []metav1.Condition{synced, available}
}

func condition(kind string, is bool, reason string) metav1.Condition {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason}
	if is {
		c.Status = metav1.ConditionTrue
	}
	return c
}
