package sessions

import (
	"fmt"
	"sync"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// A target whose session is lost again and again is not trusted with anything new until it has been
// well for a while, longer each time. What is there stays.
const (
	// flapMemory is how long a lost session counts, from the last one on.
	flapMemory = time.Hour
	// flapsFree is how many lost sessions within flapMemory are no flapping.
	flapsFree = 1
	// firstHold doubles with each further lost session, up to longestHold.
	firstHold   = 30 * time.Second
	longestHold = 30 * time.Minute
)

// flaps count the lost sessions of targets. mu is never held while anybody else is called.
type flaps struct {
	mu sync.Mutex
	of map[string]*flap
}

type flap struct {
	lost  int       // sessions
	last  time.Time // when the last one was lost
	until time.Time // until when it has to be well; zero while it has no session, or is trusted
}

func newFlaps() *flaps { return &flaps{of: map[string]*flap{}} }

// lost records that the session of a target was lost.
func (f *flaps) lost(name string, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.of[name]
	if t == nil || now.Sub(t.last) > flapMemory {
		t = &flap{}
		f.of[name] = t
	}
	t.lost, t.last, t.until = t.lost+1, now, time.Time{}
}

// back records that a target has a session again.
func (f *flaps) back(name string, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.of[name]
	if t == nil || t.lost <= flapsFree || now.Sub(t.last) > flapMemory {
		return
	}
	t.until = now.Add(min(firstHold<<min(t.lost-flapsFree-1, 16), longestHold))
}

func (f *flaps) forget(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.of, name)
}

// over returns the targets that have been well for long enough since the last call, and drops what
// does not count any more.
func (f *flaps) over(now time.Time) (names []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, t := range f.of {
		switch {
		case !t.until.IsZero() && !now.Before(t.until):
			t.until = time.Time{}
			names = append(names, name)
		case t.until.IsZero() && now.Sub(t.last) > flapMemory:
			delete(f.of, name)
		}
	}
	return names
}

// say says of a connected target that it is not trusted yet. One that is away keeps what was said.
func (f *flaps) say(st *v1alpha1.SyncTarget, connected bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.of[st.Name]
	switch {
	case !connected && t != nil:
	case t == nil || t.until.IsZero():
		apimeta.RemoveStatusCondition(&st.Status.Conditions, v1alpha1.ConditionStable)
	default:
		set(st, v1alpha1.ConditionStable, metav1.ConditionFalse, "Flapping", fmt.Sprintf("its session was lost %d times, "+
			"at %s the last time; nothing new is placed there before %s, if it is well until then. Look at the link: "+
			"skerry doctor on the site", t.lost, t.last.UTC().Format(time.TimeOnly), t.until.UTC().Format(time.TimeOnly)))
	}
}
