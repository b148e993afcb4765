package placement

import "time"

// Phase is where a move stands.
type Phase string

// The phases.
const (
	// Settled: the group is where it should be.
	Settled Phase = "Settled"
	// Starting: the new targets are added in this step.
	Starting Phase = "Starting"
	// Breaking: the old targets are removed in this step, before the new ones are added.
	Breaking Phase = "Breaking"
	// Waiting: until the new targets are ready nothing is removed; or until the old ones are left
	// nothing is added.
	Waiting Phase = "Waiting"
	// Finishing: the move ends with this step.
	Finishing Phase = "Finishing"
	// HookRunning: nothing is removed before a hook has ended. HookFailed: it has failed, and is tried
	// again.
	HookRunning Phase = "HookRunning"
	HookFailed  Phase = "HookFailed"
	// GivenUp: the new targets were not ready in time, and the group is, or goes, back where it
	// was.
	GivenUp Phase = "GivenUp"
	// CopyingVolumes: what volumes hold is copied to the new target, while the group runs or, for the last round,
	// between the two.
	CopyingVolumes Phase = "CopyingVolumes"
	// VolumeWouldStay: nothing moves, because a volume would be left behind.
	VolumeWouldStay Phase = "VolumeWouldStay"
	// JobRunning: nothing moves, because something has begun that must run once to its end.
	JobRunning Phase = "JobRunning"
	// WouldRunOn: nothing moves, because something that must not run twice would run on where it was.
	WouldRunOn Phase = "WouldRunOn"
	// WaitsForTurn: nothing moves before others have left the same target, see Turns.
	WaitsForTurn Phase = "WaitsForTurn"
	// Suspended: a person holds the decision.
	Suspended Phase = "Suspended"
	// Staying: no target fits, and what is there stays.
	Staying Phase = "Staying"
)

// Stuck reports whether a move in this phase goes on only when a person, or another site, does something.
func (p Phase) Stuck() bool {
	switch p {
	case CannotLeave, VolumeWouldStay, WouldRunOn, JobRunning, GivenUp, Suspended, HookFailed:
		return true
	}
	return false
}

// Step is where a group is now, and what that means.
type Step struct {
	// Decision are the targets that have the group.
	Decision []string
	Phase    Phase
	// Message says for people what is waited for or what to do.
	Message string
	// Since is when what is waited for began, zero while no time runs.
	Since time.Time
}
