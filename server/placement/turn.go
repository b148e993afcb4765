package placement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"skerry.dev/skerry/store"
)

const (
	// MaxLeaving is how many units leave a drained target at a time where its SyncTarget does not say.
	MaxLeaving = 10
	// MaxArriving is how many units that leave drained targets are on their way to one other.
	MaxArriving = 5
)

// Turn is a unit that is to leave a drained target for another one.
type Turn struct {
	// Key is that of what holds the decision.
	Key store.Key
	// To is the target that it is to join.
	To string
	// Elsewhere is on how many other targets it stays.
	Elsewhere int
	// Single: some of it must not be in two places.
	Single bool
	// Objects is how many objects it has.
	Objects int
}

// compare orders turns: most copies elsewhere, free, small, name.
func (t Turn) compare(o Turn) int {
	single := func(t Turn) int {
		if t.Single {
			return 1
		}
		return 0
	}
	return cmp.Or(o.Elsewhere-t.Elsewhere, single(t)-single(o), t.Objects-o.Objects,
		cmp.Compare(t.Key.Encode(), o.Key.Encode()))
}

// Leaving is what is under way from drained targets.
type Leaving struct {
	// From is a drained target, Units how many leave it, and Limit how many may at a time.
	From         string
	Units, Limit int
	// Arriving is how many are on their way to other targets, from any.
	Arriving map[string]int
}

// Full says why a unit cannot begin to leave now, empty if it can.
func (l Leaving) Full(t Turn) string {
	switch {
	case l.Units >= l.Limit:
		return fmt.Sprintf("waits for a turn: %s %s, as many as spec.drain.maxConcurrent allows", leave(l.Units), l.From)
	case l.Arriving[t.To] >= MaxArriving:
		return fmt.Sprintf("waits for a turn: %d units are on their way to %s", l.Arriving[t.To], t.To)
	}
	return ""
}

// leave says that so many units leave.
func leave(n int) string {
	if n == 1 {
		return "1 unit leaves"
	}
	return fmt.Sprintf("%d units leave", n)
}

// Turns returns the units that may begin to leave, of those that wait for it.
func (l Leaving) Turns(waiting []Turn) (out []Turn) {
	l.Arriving = maps.Clone(l.Arriving)
	for _, t := range slices.SortedFunc(slices.Values(waiting), Turn.compare) {
		if l.Units >= l.Limit {
			break
		}
		if l.Full(t) != "" {
			continue
		}
		out = append(out, t)
		l.Units++
		l.Arriving[t.To]++
	}
	return out
}
