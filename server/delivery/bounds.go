package delivery

import (
	"fmt"
	"time"

	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
)

// gathers reports whether a group that is not anywhere yet waits for what else comes: where there are
// bounds, it is decided about with all that it asks for. The lock must be held.
func (d *Delivery) gathers(r catalog.Ref, g *catalog.Group) bool {
	if g.Record != nil || !d.catalog.Bounded() {
		return false
	}
	now := time.Now()
	if g.Asked.IsZero() {
		g.Asked = now
	}
	left := catalog.RoomDelay - now.Sub(g.Asked)
	if left > 0 {
		d.catalog.Groups.AddAfter(r, left)
	}
	return left > 0
}

// Room returns what a target may have by its bounds and what is placed there, and how many objects.
func (d *Delivery) Room(target string) (room placement.Room, objects int) {
	d.catalog.RLock()
	defer d.catalog.RUnlock()
	t := d.catalog.Targets[target]
	if t == nil {
		return placement.Room{}, 0
	}
	return t.Room, t.Feed.Len()
}

// contested says which object of a Placement another one of the same priority selects, too; empty
// for none. The older one has it, and both say so. The lock must be held.
func (d *Delivery) contested(g *catalog.Group) string {
	b := g.Book
	if object, winner := b.Loses(); winner != nil {
		return fmt.Sprintf(
			"%s is selected by the older Placement %q too, which has it; give one of them another priority",
			object, winner.Name)
	}
	if object, loser := g.Space.Wins(b); loser != nil {
		return fmt.Sprintf(
			"%s is selected by the younger Placement %q too; this one has it; give one of them another priority",
			object, loser.Name)
	}
	return ""
}
