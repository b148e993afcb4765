// Package copier copies volumes from target to target for units that move, see package volumes.
//
//	c := copier.New(copier.Config{...})
//	c.Keep(ctx, unit, &move)   // what is to be copied now; nil ends it
//	s := c.State(&move)        // how far that is
//
// The copy runs through the center, as `kubectl exec` does, between the two movers of each claim: package agent/mover
// is at both ends. Rounds are made beside the app until the rest is little. Then the unit is taken off (see
// package binding), and the last round, once nothing of it is left there, is read back and compared. What this
// package knows is lost with the process: a round is made anew, which sends what differs.
//
// Replicate makes the rounds of a standby, and settles it when a unit is to begin there. At a target one round begins
// after the other; one that takes long goes on beside others.
// What a standby holds is written on its mover, so that it is known after a restart.
package copier
