package placement

import (
	"fmt"

	"skerry.dev/skerry/store"
)

// Departed is a Pod that its space showed and does not show any more.
type Departed struct {
	Owner  store.Key // the placed object that it was of
	Target string    // where it was
	// Pods are those of the owner that the space shows now, sorted.
	Pods []string
}

// mostTold is how many names of one kind a message has.
const mostTold = 3

// Message says where the Pod was, and where its owner is now: on at.Targets, or gone where placed is
// false.
func (d Departed) Message(at Located, placed bool) string {
	was := fmt.Sprintf("it was at %s, of %s/%s", d.Target, d.Owner.Resource, d.Owner.Name)
	if !placed || len(at.Targets) == 0 {
		return was + ", which is at no target any more"
	}
	said := was + ", which is now at " + first(at.Targets, mostTold)
	if len(d.Pods) == 0 {
		return said + " and has no Pod that is known yet"
	}
	return said + " with " + first(d.Pods, mostTold)
}
