package schedule

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"skerry.dev/skerry/tunnel/period"
)

// Retention says which backups are kept: the newest of a number, or those that are younger than an
// age. The newest one is always kept.
type Retention struct {
	count int
	age   time.Duration
}

// ParseRetention reads a number of backups (14) or an age (720h, 30d).
func ParseRetention(text string) (Retention, error) {
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return Retention{count: n}, nil
	}
	if age, err := period.Parse(text); err == nil && age >= shortest {
		return Retention{age: age}, nil
	}
	return Retention{}, fmt.Errorf("%q: write how many backups are kept, such as 14, or for how long, such as 30d",
		text)
}

// Expired returns the indexes of the backups that are not kept, oldest first. The times are in any
// order.
func (r Retention) Expired(made []time.Time, now time.Time) []int {
	order := make([]int, len(made))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return made[a].Compare(made[b]) })
	if len(order) == 0 {
		return nil
	}
	old := order[:len(order)-1]
	switch {
	case r.count > 0:
		return old[:max(0, len(order)-r.count)]
	case r.age > 0:
		n := 0
		for n < len(old) && made[old[n]].Before(now.Add(-r.age)) {
			n++
		}
		return old[:n]
	}
	return nil
}
