package door

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
)

// usage counts what crosses the link of each target in a UTC day. It is begun from what the status says, so that a center that is
// killed forgets a minute at most, or as many seconds as there are targets.
type usage struct {
	mu sync.Mutex
	of map[string]*v1alpha1.BytesToday
}

func newUsage() *usage { return &usage{of: map[string]*v1alpha1.BytesToday{}} }

// date is the UTC day of a time.
func date(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// add counts bytes, and returns what crossed today. Quiet bytes do not count against the budget.
func (u *usage) add(name string, known target, at time.Time, down, up int64, quiet bool) v1alpha1.BytesToday {
	u.mu.Lock()
	defer u.mu.Unlock()
	t := u.of[name]
	if t == nil {
		t = stored(known.object)
		u.of[name] = t
	}
	if today := date(at); t.Date != today {
		*t = v1alpha1.BytesToday{Date: today}
	}
	t.Down += down
	t.Up += up
	if !quiet {
		t.Budgeted += down + up
	}
	return *t
}

// forget drops a target that was removed.
func (u *usage) forget(name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.of, name)
}

// stored is what the status of a SyncTarget says.
func stored(object map[string]any) *v1alpha1.BytesToday {
	number := func(field string) int64 {
		n, _, _ := unstructured.NestedInt64(object, "status", "bytesToday", field)
		return n
	}
	day, _, _ := unstructured.NestedString(object, "status", "bytesToday", "date")
	return &v1alpha1.BytesToday{Date: day, Down: number("down"), Up: number("up"), Budgeted: number("budgeted")}
}

// account counts what has crossed in a session since the last call, says what of the link may be used, and returns what crossed today.
func (d *Door) account(s *session, at time.Time) v1alpha1.BytesToday {
	known, ok := d.targets.get(s.target)
	if !ok {
		return v1alpha1.BytesToday{}
	}
	down, up := s.crossed()
	today := d.usage.add(s.target, known, at, down, up, known.link.quiet.at(at))
	s.use.Set(known.link.use(at, today.Budgeted))
	return today
}

// crossed is what has crossed since the last call.
func (s *session) crossed() (down, up int64) {
	now := s.conn.Stats()
	s.mu.Lock()
	defer s.mu.Unlock()
	down, up = int64(now.SentBytes-s.counted.SentBytes), int64(now.ReceivedBytes-s.counted.ReceivedBytes)
	s.counted = now
	return down, up
}

// link is how the link of a target is used when a session begins.
func (d *Door) link(name string, at time.Time) tunnel.Link {
	known, ok := d.targets.get(name)
	if !ok {
		return tunnel.Link{}
	}
	today := d.usage.add(name, known, at, 0, 0, true)
	return known.link.use(at, today.Budgeted)
}
