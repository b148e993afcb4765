package summary

import (
	"context"
	"sync"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

const (
	// outageAge is how old an outage is when objects begin to say it: a site that is back within
	// that time costs no write.
	outageAge = 20 * time.Second
	// outagePace is the pause between two objects that are looked at because an outage has begun or
	// ended. When a thousand sites go at once that bounds the writes to 100 a second; what people
	// read by name says it at once (Outages is asked).
	outagePace = 10 * time.Millisecond
	// rewordPause is the least time between two messages of a condition that stays False: of an
	// object on many targets, some come and go all the time.
	rewordPause = time.Minute
)

// Outage tells that the reports of a target have begun to be old, or are current again.
func (s *Summary) Outage(target string) { s.outages.restart(target) }

// outages are the targets whose objects are to be told that an outage has begun or has ended.
type outages struct {
	mu   sync.Mutex
	jobs map[string]*outageJob
	wake chan struct{}
}

// outageJob is one target, and which of its objects are still to be looked at.
type outageJob struct {
	target string
	due    time.Time // not before: when an outage is old enough, or when it ended
	listed bool
	left   []store.Key
}

func newOutages() *outages {
	return &outages{jobs: map[string]*outageJob{}, wake: make(chan struct{}, 1)}
}

// restart begins with the objects of a target anew.
func (o *outages) restart(target string) {
	o.mu.Lock()
	o.jobs[target] = &outageJob{target: target, due: time.Now()}
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// next returns the job that is to go on now, and else how long there is none. The one that is due
// since the shortest time goes first: while a thousand sites are gone, one more is told within
// seconds.
func (o *outages) next(now time.Time) (job *outageJob, rest time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	rest = time.Hour
	for _, j := range o.jobs {
		if wait := j.due.Sub(now); wait > 0 {
			rest = min(rest, wait)
		} else if job == nil || j.due.After(job.due) {
			job = j
		}
	}
	return job, rest
}

// done drops a job, unless its target was told of anew.
func (o *outages) done(j *outageJob) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.jobs[j.target] == j {
		delete(o.jobs, j.target)
	}
}

// runOutages has the objects of targets say outages, and no longer say them, at a pace, until ctx
// ends.
func (s *Summary) runOutages(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.outages.wake:
		case <-timer.C:
		}
		job, rest := s.outages.next(time.Now())
		if job != nil {
			rest = s.stepOutage(job)
		}
		timer.Reset(rest)
	}
}

// stepOutage makes one step of a job, and returns how long to rest after it.
func (s *Summary) stepOutage(j *outageJob) time.Duration {
	is, out := s.cfg.Outages.Outage(j.target)
	if due := is.Since.Add(outageAge); out && !j.due.Equal(due) {
		s.outages.mu.Lock()
		j.due = due
		s.outages.mu.Unlock()
		return 0 // others may be due before it
	}
	if !j.listed {
		j.listed = true
		for _, e := range s.cfg.Delivery.Placed(j.target) {
			j.left = append(j.left, e.Key)
		}
	}
	for len(j.left) > 0 {
		k := j.left[0]
		j.left = j.left[1:]
		if s.due(k, out) {
			s.queue.Add(k)
			return outagePace
		}
	}
	s.outages.done(j)
	return 0
}

// due notes that an object may say an outage from now on, and reports whether it has something to
// say, or to take back.
func (s *Summary) due(k store.Key, out bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	says := s.saysOutageLocked(k)
	if out && !says {
		s.untold[k] = struct{}{}
	}
	return out || says
}

// saysOutageLocked reports whether an object says an outage in its space.
func (s *Summary) saysOutageLocked(k store.Key) bool {
	return s.shown[k].outage || s.annotated[k].unreachable != ""
}

// outageCondition puts the condition skerry.dev/Reachable on an object one of whose targets has an
// outage, and takes it off when all are current. It returns the same as the annotation
// skerry.dev/unreachable-since has it. An object begins to say it when its turn has come
// (runOutages), so that writes for other reasons, as at the start of a center, do not tell all at
// once.
func (s *Summary) outageCondition(at placement.Located) string {
	of := placement.OutagesOf(at.Targets, s.outage)
	s.mu.Lock()
	defer s.mu.Unlock()
	old, had := s.extra[at.Key][v1alpha1.ConditionObjectReachable]
	_, untold := s.untold[at.Key]
	delete(s.untold, at.Key)
	if of.None() || !had && !untold && !s.saysOutageLocked(at.Key) {
		s.setExtraLocked(at.Key, placement.Condition{Type: v1alpha1.ConditionObjectReachable}, true)
		return ""
	}
	now := time.Now()
	is := condition{
		placement.Condition{Type: v1alpha1.ConditionObjectReachable, Reason: of.Reason(), Message: of.Message()},
		of.Since(),
	}
	if had && old.Message != is.Message && now.Sub(s.worded[at.Key]) < rewordPause {
		s.queue.AddAfter(at.Key, rewordPause-now.Sub(s.worded[at.Key]))
		return old.since.UTC().Format(time.RFC3339)
	}
	if !had || old.Message != is.Message {
		s.worded[at.Key] = now
	}
	s.setExtraLocked(at.Key, is.Condition, false)
	s.extra[at.Key][is.Type] = is
	if untold && !takesConditions(at.Key) {
		s.events.record(
			placement.Event{Key: at.Key, APIVersion: at.APIVersion, Kind: at.Kind, UID: at.UID, Warning: true,
				Reason: "SiteNotReachable", Message: is.Message},
		)
	}
	return is.since.UTC().Format(time.RFC3339)
}

// outage is Config.Outage of those that are old enough to be told.
func (s *Summary) outage(target string) (placement.Outage, bool) {
	is, out := s.cfg.Outages.Outage(target)
	return is, out && time.Since(is.Since) >= outageAge
}

// MirrorOf returns the target that a mirrored object of a space is at; it is false for other
// objects.
func (s *Summary) MirrorOf(k store.Key) (target string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rk, ok := s.names[k]
	if !ok || s.mirrors[rk] == nil {
		return "", false
	}
	o, ok := s.mirrors[rk].objects[k.Name]
	return o.target, ok
}
