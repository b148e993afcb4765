package summary

import (
	"cmp"
	"slices"
	"sync"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// maxLeaving bounds how many objects of a target are watched that are to leave it.
const maxLeaving = 1000

// leaving are the objects that targets report although they are not placed there: they are to
// leave, and a target that cannot remove one says why. No object in a space is left that could say
// it.
type leaving struct {
	mu sync.Mutex
	of map[string]map[store.Key]struct{}
}

func newLeaving() *leaving { return &leaving{of: map[string]map[store.Key]struct{}{}} }

// record takes over that a target has reported an object that is not placed there.
func (l *leaving) record(target string, k store.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of[target] == nil {
		l.of[target] = map[store.Key]struct{}{}
	}
	if len(l.of[target]) < maxLeaving {
		l.of[target][k] = struct{}{}
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
}

// placedOn reports whether an object is placed on a target.
func (s *Summary) placedOn(target string, k store.Key) bool {
	at, ok := s.cfg.Delivery.Located(k)
	return ok && slices.Contains(at.Targets, target)
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
