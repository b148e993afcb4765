package agent

import (
	"fmt"

	"skerry.dev/skerry/agent/apply"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

// accepted carries out what an admin has confirmed at the center. It applies only to what this site
// holds now: the copy must still be where the admin saw it. It reports whether the center is
// followed from now on.
func (a *agent) accepted(o tunnel.Accept) (again bool, err error) {
	if o.DeletionsUpTo > 0 {
		a.Log.Info("held deletions are confirmed", "upTo", o.DeletionsUpTo)
		if err := a.guard.Confirm(o.DeletionsUpTo); err != nil {
			return false, fmt.Errorf("confirm held deletions: %w", err)
		}
	}
	if o.At.Incarnation.IsZero() {
		return false, nil
	}
	if at := a.desired.Position(); o.At != at || !a.conditions.Regressed() {
		a.Log.Warn("what was accepted at the center is not what is held here; it stays held",
			"accepted", o.At.String(), "held", at.String())
		return false, nil
	}
	if err := a.guard.Allow(o.Deletions); err != nil {
		return false, fmt.Errorf("note what may be deleted: %w", err)
	}
	if err := a.desired.Accept(o.Center); err != nil {
		return false, fmt.Errorf("note that the center is accepted: %w", err)
	}
	a.Log.Info("the center is accepted; what differs from it is brought in line",
		"was", o.At.String(), "center", o.Center.String(), "deletions", o.Deletions)
	return true, nil
}

var _ apply.Listener = (*agent)(nil)

// Deleting implements apply.Listener. It tells a relay's own center about a deletion that its
// targets need not withhold: nothing is lost, or an admin has confirmed it.
func (a *agent) Deleting(e store.Entry) {
	if a.Intended != nil && a.guard.Confirmed(e) {
		a.Intended(e.Key)
	}
}
