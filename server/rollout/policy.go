package rollout

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// The defaults of a policy.
const defaultDeadline = 30 * time.Minute

// Policy is a compiled v1alpha1.RolloutPolicy. Times are in seconds.
type Policy struct {
	// GroupBy is a key of labels of targets, and Groups the values that have their turn first.
	GroupBy string
	Groups  []string
	// Concurrency is how many targets may be getting a release, or, with Percent, how many of 100.
	Concurrency          int
	Percent              bool
	MinSuccess, Deadline int64
	MaxFailures          int
	Offline              v1alpha1.OfflinePolicy
	// RollsBack: when too many have failed all targets get the default.
	RollsBack bool
	// Approval: every group but the first waits until Approved names it.
	Approval bool
	Approved v1alpha1.RolloutApproval
	Paused   bool
	Undo     v1alpha1.RolloutUndo
}

// Compile makes a Policy of spec.rollout, nil for type All.
func Compile(p v1alpha1.RolloutPolicy) *Policy {
	if p.Type != v1alpha1.RolloutProgressive {
		return nil
	}
	out := &Policy{GroupBy: p.GroupBy, Groups: p.Groups, Concurrency: 1, Deadline: seconds(defaultDeadline),
		MaxFailures: int(p.MaxFailures), Offline: p.Offline, RollsBack: p.WhenFailed == v1alpha1.WhenFailedRollback,
		Approval: p.Approval == v1alpha1.ApprovalGroups, Paused: p.Paused}
	if out.Offline == "" {
		out.Offline = v1alpha1.OfflineSkip
	}
	if c := p.MaxConcurrency; c != nil {
		out.Concurrency, out.Percent = c.IntValue(), c.Type == intstr.String
		if out.Percent {
			out.Concurrency, _ = strconv.Atoi(strings.TrimSuffix(c.StrVal, "%"))
		}
		out.Concurrency = max(1, out.Concurrency)
	}
	if p.MinSuccessTime != nil {
		out.MinSuccess = seconds(p.MinSuccessTime.Duration)
	}
	if p.ProgressDeadline != nil {
		out.Deadline = max(1, seconds(p.ProgressDeadline.Duration))
	}
	if p.Approved != nil {
		out.Approved = *p.Approved
	}
	if p.Undo != nil {
		out.Undo = *p.Undo
	}
	return out
}

func seconds(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }

// concurrency is how many of all targets may be getting a release at the same time.
func (p *Policy) concurrency(all int) int {
	if p.Percent {
		return max(1, (p.Concurrency*all+99)/100)
	}
	return p.Concurrency
}

// approves reports whether a group may get a release. The first one needs no approval.
func (p *Policy) approves(group string, release uint64, first bool) bool {
	return !p.Approval || first || p.Approved.Release == int64(release) &&
		(slices.Contains(p.Approved.Groups, group) || slices.Contains(p.Approved.Groups, "*"))
}
