package progress

import (
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// severity orders what may be wrong with an object, the worst first.
type severity uint8

const (
	failed severity = iota
	conflicted
	drifted
	notAvailable
	notSynced
	notReported
	pendingOffline
	silent
	fine
)

// verdict is what the last reports of one target say of a Placement's objects. It is never changed
// once it is in a book.
type verdict struct {
	synced, available bool
	// refused: the target does not take an object. failing: one has failed there by its own status.
	refused, failing bool
	// drifts and conflicts: why it refuses, where these are the reason.
	drifts, conflicts bool
	worst             problem
}

// wellDone is the verdict of every target at which nothing is wrong.
var wellDone = &verdict{synced: true, available: true, worst: problem{severity: fine}}

// problem is the worst of a target.
type problem struct {
	severity        severity
	object          string
	reason, message string
	since           time.Time
}

func (p problem) same(q problem) bool {
	return p.severity == q.severity && p.object == q.object && p.reason == q.reason
}

// judge makes the verdict of one target.
func (p *Progress) judge(target string, content placement.Content) (*verdict, error) {
	v := &verdict{synced: true, available: true, worst: problem{severity: fine}}
	for _, a := range content.Objects {
		var has bool
		if a.Demand, has = a.Versions.At(target, a.Demand); !has {
			continue // its release does without it
		}
		if a.Unsent != "" {
			v.refuse(a, store.ReportError{Reason: "NotSent", Message: a.Unsent})
			continue
		}
		r, ok, err := p.report(target, a.Key)
		if err != nil {
			return nil, err
		}
		if !ok || r.OriginUID != a.Demand.UID {
			v.synced, v.available = false, false
			v.worsen(a, notReported, v1alpha1.ProblemNotReported, "not reported yet")
			continue
		}
		v.take(a, r)
	}
	return v, nil
}

// take adds what a report says of one object.
func (v *verdict) take(a placement.Asked, r store.Report) {
	is := placement.Judge(a.Key, r)
	if is.Refused != nil {
		v.refuse(a, *is.Refused)
		return
	}
	if is.Applied != a.Demand.Hash {
		v.synced, v.available = false, false
		v.worsen(a, notSynced, v1alpha1.ProblemNotSynced, "not applied yet")
		return
	}
	if lacks := is.Arrived(a.Demand); lacks != "" {
		v.available = false
		v.worsen(a, notAvailable, v1alpha1.ProblemNotAvailable, lacks)
	}
	if reason, message, has := placement.Failure(a.Key, r); has {
		v.failing = true
		v.worsen(a, failed, reason, message)
	}
}

// refuse adds that the target does not take an object.
func (v *verdict) refuse(a placement.Asked, why store.ReportError) {
	v.synced, v.available, v.refused = false, false, true
	is := failed
	switch why.Reason {
	case "AlreadyExists", "Conflict":
		is, v.conflicts = conflicted, true
	case "Drifted", "Contested":
		is, v.drifts = drifted, true
	}
	v.worsen(a, is, why.Reason, why.Message)
}

// worsen takes over a problem when it is worse than the one that is known. Of equals the first
// object's is.
func (v *verdict) worsen(a placement.Asked, is severity, reason, message string) {
	if is < v.worst.severity {
		v.worst = problem{severity: is, object: nameOf(a.Key), reason: reason, message: placement.Words(message)}
	}
}

func nameOf(k store.Key) string {
	if k.Namespace == "" {
		return k.Resource + "/" + k.Name
	}
	return k.Resource + "/" + k.Namespace + "/" + k.Name
}

func (p *Progress) report(target string, k store.Key) (r store.Report, ok bool, err error) {
	e, ok, err := p.cfg.Reports.Report(target, k)
	if err != nil || !ok {
		return r, false, err
	}
	return placement.ReportOf(target, e)
}

// sum tells one content from another, but for its targets.
func sum(c placement.Content) uint64 {
	h := fnv.New64a()
	for _, a := range c.Objects {
		fmt.Fprintf(h, "%s\x00%s\x00%x\x00%d\x00%s\x00", a.Key.Encode(), a.Demand.UID, a.Demand.Hash, a.Demand.Replicas,
			a.Unsent)
		sumVersions(h, a.Versions)
	}
	return h.Sum64() | 1 // 0 is none
}

// sumVersions adds what targets are to have in place of the present version.
func sumVersions(h io.Writer, v *placement.Versions) {
	if v == nil {
		return
	}
	add := func(name string, d *placement.Demand) {
		if d != nil {
			fmt.Fprintf(h, "%s\x00%s\x00%x\x00%d\x00", name, d.UID, d.Hash, d.Replicas)
		} else {
			fmt.Fprintf(h, "%s\x00none\x00", name)
		}
	}
	add("", v.Rest)
	for _, name := range slices.Sorted(maps.Keys(v.Named)) {
		add(name, v.Named[name])
	}
}
