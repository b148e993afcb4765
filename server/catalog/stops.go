package catalog

import (
	"slices"
	"strings"

	"skerry.dev/skerry/server/placement"
)

// A CronJob leaves a target when none of its Jobs runs there. One that starts the next Job when the last has ended
// would never leave. So where its Jobs are all that it waits for, it starts no more of them at the target that it
// leaves. That skips nothing which it would have started while they run: only those that start one at a time are
// stopped.

// stops are the targets at which an object starts no more Jobs, separated by commas. The lock must be held.
func stops(c *Catalog, o *Object) string {
	if !o.OneJob {
		return ""
	}
	m, moves := wayOf(c, o)
	if !moves || len(m.To) == 0 {
		return ""
	}
	switch was := o.Options != nil && o.Options.Stops != ""; m.Phase {
	case placement.JobRunning:
	case placement.Starting, placement.Breaking: // its Jobs have ended: it begins none before it has left
		if !was {
			return ""
		}
	default:
		return ""
	}
	var leaves []string
	for _, t := range m.From {
		if !slices.Contains(m.To, t) {
			leaves = append(leaves, t)
		}
	}
	slices.Sort(leaves)
	return strings.Join(leaves, ",")
}

// wayOf is the move of an object that is told.
func wayOf(c *Catalog, o *Object) (m placement.Moving, moves bool) {
	ref := c.Records.Of(o)
	if ref.Cohort != 0 {
		p, passes := c.Passes[ref.Cohort]
		return p.Move, passes
	}
	if o.Source == nil {
		return m, false
	}
	m, moves = c.Moves[o.Source.Ref()]
	return m, moves
}

// Restop has objects rendered anew whose move has changed, and those that are stopped. The lock must be held.
func Restop(c *Catalog, objects ...*Object) {
	for _, o := range objects {
		if o.OneJob {
			c.Stopped[o] = struct{}{}
		}
	}
	for o := range c.Stopped {
		c.RerenderIfStale(o)
		if !o.Present || stops(c, o) == "" {
			delete(c.Stopped, o)
		}
	}
}
