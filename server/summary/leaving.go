package summary

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// maxLeaving bounds how many objects of a target are watched that are to leave it.
const maxLeaving = 1000

const (
	// stuckAge is how long a target may say that it cannot remove an object before its team is told: what
	// was refused there as something else may have left a moment ago.
	stuckAge = 30 * time.Second
	// stuckRepeat is how often the team is told again while it is so: Events are kept for an hour.
	stuckRepeat = 30 * time.Minute
)

// leaving are the objects that targets report although they are not placed there: they are to
// leave, and a target that cannot remove one says why. No object in a space is left that could say
// it, so it is an Event.
type leaving struct {
	mu  sync.Mutex
	of  map[string]map[store.Key]struct{}
	due map[store.Key]map[string]time.Time // when a target's word on an object is told, by that
}

func newLeaving() *leaving {
	return &leaving{of: map[string]map[store.Key]struct{}{}, due: map[store.Key]map[string]time.Time{}}
}

// record takes over that a target has reported an object that is not placed there.
func (l *leaving) record(target string, k store.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of[target] == nil {
		l.of[target] = map[store.Key]struct{}{}
	}
	if _, known := l.of[target][k]; !known && len(l.of[target]) >= maxLeaving {
		return
	}
	l.of[target][k] = struct{}{}
	if l.due[k] == nil {
		l.due[k] = map[string]time.Time{}
	}
	if _, waits := l.due[k][target]; !waits {
		l.due[k][target] = time.Now().Add(stuckAge)
	}
}

// ripe returns the targets whose word on an object is to be told now.
func (l *leaving) ripe(k store.Key, now time.Time) (targets []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for target, at := range l.due[k] {
		if !at.After(now) {
			targets = append(targets, target)
		}
	}
	return targets
}

// next returns how long the first word on an object waits, 0 for none.
func (l *leaving) next(k store.Key, now time.Time) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, at := range l.due[k] {
		if rest := max(at.Sub(now), time.Millisecond); wait == 0 || rest < wait {
			wait = rest
		}
	}
	return wait
}

// postpone has a target's word on an object told at another time.
func (l *leaving) postpone(target string, k store.Key, to time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, waits := l.due[k][target]; waits {
		l.due[k][target] = to
	}
}

// keys are the objects of a target, in order.
func (l *leaving) keys(target string) []store.Key {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]store.Key, 0, len(l.of[target]))
	for k := range l.of[target] {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b store.Key) int { return cmp.Compare(a.Encode(), b.Encode()) })
	return out
}

func (l *leaving) drop(target string, k store.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of[target], k)
	if len(l.of[target]) == 0 {
		delete(l.of, target)
	}
	delete(l.due[k], target)
	if len(l.due[k]) == 0 {
		delete(l.due, k)
	}
}

// placedOn reports whether an object is placed on a target.
func (s *Summary) placedOn(target string, k store.Key) bool {
	at, ok := s.cfg.Delivery.Located(k)
	return ok && slices.Contains(at.Targets, target)
}

// tellStuck tells in the space which targets cannot remove an object, for as long as it is so.
func (s *Summary) tellStuck(k store.Key) error {
	for _, target := range s.leaving.ripe(k, time.Now()) {
		r, ok, err := s.report(target, k)
		switch {
		case err != nil:
			return err
		case !ok || s.placedOn(target, k):
			s.leaving.drop(target, k)
			continue
		case r.Error == nil: // it is about to go, or to say why not
			s.leaving.postpone(target, k, time.Now().Add(stuckAge))
			continue
		}
		e := placement.Event{Key: k, UID: r.OriginUID, Warning: true, Reason: r.Error.Reason,
			Message: target + ": the object is to go there, and does not: " + r.Error.Message}
		if at, there := s.cfg.Delivery.Located(k); there {
			e.APIVersion, e.Kind = at.APIVersion, at.Kind
		} else {
			e.Kind = k.Resource // nothing is left that could say its kind
		}
		s.events.record(e)
		s.leaving.postpone(target, k, time.Now().Add(stuckRepeat))
	}
	if wait := s.leaving.next(k, time.Now()); wait > 0 {
		s.queue.AddAfter(k, wait)
	}
	return nil
}

// stuck are the deletions that a target reports it cannot carry out.
func (s *Summary) stuck(target string) (out []placement.Refused) {
	for _, k := range s.leaving.keys(target) {
		r, ok, err := s.report(target, k)
		if err == nil && (!ok || s.placedOn(target, k)) {
			s.leaving.drop(target, k)
		}
		if err == nil && ok && r.Error != nil && !s.placedOn(target, k) {
			out = append(out, placement.Refused{Key: k, Reason: r.Error.Reason, Message: r.Error.Message})
		}
	}
	return out
}
