package placement

import (
	"fmt"
	"strings"
	"time"
)

// State is what a step of a group's decision depends on. A group is everything that moves together:
// the objects of a namespace, those of a Placement, or one object.
type State struct {
	// Current is the recorded decision; the first is the longest there.
	Current []string
	// Wanted is what Choose picks now. Empty means that no target fits, or that nothing is wished:
	// the group stays where it is.
	Wanted []string
	// Suspended holds the decision as it is, whatever is wanted.
	Suspended bool
	// Empty: the group has no objects, so there is nothing to keep available.
	Empty bool
	// BreakFirst: the group must never be on the targets that it leaves and on those that it joins
	// at once.
	BreakFirst bool
	// Gone are targets of Current that do not exist any more.
	Gone []string
	// Volumes names, per target, the volumes that the group has there.
	Volumes map[string][]string
	// NotReady names, per target of Wanted, an object that is not available (or not applied) there
	// yet, and why.
	NotReady map[string]string
	// Unseen names, per target, an object that it has not reported on yet, so that its silence
	// would not mean that it is gone. Present names one that it reports. Both are needed for
	// BreakFirst alone.
	Unseen, Present map[string]string

	// Move is what is recorded of a move that has begun, nil when there is none.
	Move *Move
	// Overdue: the present half of Move has taken longer than it may.
	Overdue bool
	// Fingerprint stands for the objects, the wish and the targets that fit it. Absent are the
	// targets of Wanted, and of Move.To, that have no session.
	Fingerprint string
	Absent      []string
}

// Move is the record of a move, see v1alpha1.MoveRecord.
type Move struct {
	From, To []string
	Left     []string
	Since    time.Time
	GaveUp   string
	Absent   []string
	Message  string
}

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
	// GivenUp: the new targets were not ready in time, and the group is, or goes, back where it
	// was.
	GivenUp Phase = "GivenUp"
	// VolumeWouldStay: nothing moves, because a volume would be left behind.
	VolumeWouldStay Phase = "VolumeWouldStay"
	// Suspended: a person holds the decision.
	Suspended Phase = "Suspended"
	// Staying: no target fits, and what is there stays.
	Staying Phase = "Staying"
)

// Step is one decision: what to record now.
type Step struct {
	Decision []string
	Phase    Phase
	// Message says for people what is waited for or what to do.
	Message string
	// Move is what to record of the move beside the decision, nil when there is none. A zero Since
	// means that its time begins with this step.
	Move *Move
}

// Next is the machine of moves. Recorded decisions go A -> (A,B) -> B, or for BreakFirst A -> () ->
// B; the second step is made only when NotReady names no wanted target, or Present none that is
// left. What takes too long goes back to where it was. It depends on the record and the state
// alone, so that a center that restarts in the middle goes on.
func Next(s State) Step {
	if s.Suspended {
		return Step{
			Decision: s.Current,
			Phase:    Suspended,
			Message:  "spec.suspend holds the decision as it is",
			Move:     s.paused(),
		}
	}
	current := without(s.Current, s.Gone)
	if m := s.Move; m != nil && m.GaveUp != "" {
		if from := without(m.From, s.Gone); len(from) > 0 && !s.changed() {
			return s.back(current, from)
		}
		if s.Move = nil; s.BreakFirst {
			s.Move = &Move{From: m.From, Left: m.Left}
		}
	}
	switch {
	case len(s.Wanted) == 0 && len(current) == 0 && s.Move != nil: // in the middle of BreakFirst
		from := without(s.Move.From, s.Gone)
		if t, _ := s.remains(from); t != "" {
			return Step{Phase: Staying, Move: s.Move}
		}
		return Step{Decision: from, Phase: Staying}
	case len(s.Wanted) == 0 && s.joined(current): // in the middle of a move that nobody wishes any more
		from := without(s.Move.From, s.Gone)
		return Step{Decision: from, Phase: Finishing, Message: "back on " + Join(from)}
	case len(s.Wanted) == 0:
		return Step{Decision: current, Phase: Staying, Move: s.Move}
	case s.Empty, len(current) == 0 && s.Move == nil:
		return Step{Decision: s.Wanted, Phase: Settled}
	}
	leaving, joining := without(current, s.Wanted), without(s.Wanted, current)
	if message := stranded(s, current, leaving); message != "" {
		return Step{Decision: current, Phase: VolumeWouldStay, Message: message, Move: s.Move}
	}
	if s.BreakFirst {
		return s.breakBeforeMake(current, leaving, joining)
	}
	return s.makeBeforeBreak(current, leaving, joining)
}

// stranded explains why the group may not leave: a target to be left has volumes that no older,
// staying target has too.
func stranded(s State, current, leaving []string) string {
	for _, from := range leaving {
		volumes := s.Volumes[from]
		if len(volumes) == 0 {
			continue
		}
		safe := false
		for _, t := range current {
			if t == from {
				break
			}
			if !contains(leaving, t) && len(without(volumes, s.Volumes[t])) == 0 {
				safe = true
			}
		}
		if !safe {
			return fmt.Sprintf(
				"%s would be left behind on %s; to let the rest move, pin it and the workload that uses it with the label "+
					"skerry.dev/target=%s",
				strings.Join(head(volumes, 3), ", "),
				from,
				from,
			)
		}
	}
	return ""
}

func head(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	return append(append([]string(nil), list[:n]...), fmt.Sprintf("%d more", len(list)-n))
}
