package catalog

import (
	"time"

	"skerry.dev/skerry/server/placement"
)

// rooms is what targets may have by their bounds.
type rooms struct {
	// overflow is the group that leaves a target because there is more than its bounds: the one that has
	// grown. One at a time: when it has left, the others may stay.
	Overflow map[string]Ref
	// waiting are the groups for which there was no room somewhere.
	Waiting map[Ref]struct{}
}

func newRooms() rooms { return rooms{map[string]Ref{}, map[Ref]struct{}{}} }

// Wake looks again at the groups for which there was no room somewhere. The lock must be held.
func (r rooms) Wake(groups interface{ AddAfter(Ref, time.Duration) }) {
	for waiting := range r.Waiting {
		groups.AddAfter(waiting, RoomDelay)
	}
}

// RoomDelay is how long room that has become free, and a group that is not anywhere yet, wait for more
// before groups are looked at.
const RoomDelay = time.Second

// Charge is what an object requests, and how its replicas are divided.
type Charge struct {
	Requests placement.Requests
	Division *placement.Division
}

// At is what it requests of one of its targets.
func (c Charge) At(target string) placement.Requests {
	if c.Division == nil {
		return c.Requests
	}
	return c.Requests.Of(c.Division.Shares(c.Requests.Pods)[target])
}

// Recharge makes the sum of a target anew whose SyncTarget has come after what is placed on it. The
// lock must be held.
func (c *Catalog) Recharge(name string, t *Target) {
	t.Requested = placement.Requests{}
	c.EachObject(func(o *Object) {
		if o.Work != nil && o.On.Has(name) {
			t.Requested = t.Requested.Plus(o.Work.Charged.At(name))
		}
	})
}

// Load is what a group asks of each target, zero while no target is Bounded. The lock must be held.
func (c *Catalog) Load(g *Group) (l placement.Load) {
	if !c.Bounded() {
		return l
	}
	g.Members(func(o *Object) bool {
		l.Objects++
		if o.Work != nil {
			l.Requests = l.Requests.Plus(g.portion(o))
		}
		return true
	})
	return l
}

// Bounded reports whether a target has bounds, or no more room than on its nodes. The lock must be held.
func (c *Catalog) Bounded() bool {
	for _, t := range c.Targets {
		if t.Bounds != nil || t.Nodes != nil {
			return true
		}
	}
	return false
}

// Overflows are the targets of a group that are over their bounds and that it has to leave: where no
// other group does. The lock must be held.
func (c *Catalog) Overflows(r Ref, current []string) (out []string) {
	for _, name := range current {
		t := c.Targets[name]
		if t == nil || t.Bounds == nil || t.Over(t.Feed.Len(), placement.Load{}) == "" {
			continue
		}
		if by, ok := c.Rooms.Overflow[name]; ok && by != r && c.StillOn(by, name) {
			continue
		}
		c.Rooms.Overflow[name] = r
		out = append(out, name)
	}
	return out
}

// StillOn reports whether a group is on a target. The lock must be held.
func (c *Catalog) StillOn(r Ref, name string) bool {
	g := c.Group(r)
	return g != nil && g.Record.Has(name)
}

// NoRoom takes over what a choice says of bounds. The lock must be held.
func (c *Catalog) NoRoom(r Ref, v placement.Vacated) {
	if len(v.Full) > 0 {
		c.Rooms.Waiting[r] = struct{}{}
	} else {
		delete(c.Rooms.Waiting, r)
	}
	for _, s := range v.Stays {
		if s.Reason == placement.StayOverBounds && c.Rooms.Overflow[s.Target] == r {
			delete(c.Rooms.Overflow, s.Target) // another group may fit elsewhere
			c.Rooms.Waiting[r] = struct{}{}
		}
	}
}
