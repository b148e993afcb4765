package agent

import (
	"fmt"

	"skerry.dev/skerry/tunnel"
)

// accepted carries out what an admin has confirmed at the center. It counts only for what this site holds at this moment: the copy is still
// where it was when the admin saw it. It tells whether the center is followed from now on.
func (a *agent) accepted(o tunnel.Accept) (again bool, err error) {
	if o.At.Incarnation.IsZero() {
		return false, nil
	}
	if at := a.desired.Position(); o.At != at || !a.conditions.Regressed() {
		a.Log.Warn("what was accepted at the center is not what is held here; it stays held", "accepted", o.At.String(), "held", at.String())
		return false, nil
	}
	if err := a.desired.Accept(o.Center); err != nil {
		return false, fmt.Errorf("note that the center is accepted: %w", err)
	}
	a.Log.Info("the center is accepted; what differs from it is brought in line", "was", o.At.String(), "center", o.Center.String(), "deletions", o.Deletions)
	return true, nil
}
