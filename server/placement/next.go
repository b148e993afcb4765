package placement

import (
	"fmt"
	"strings"
)

// State is what a step of a group's decision depends on. A group is everything that moves together: the objects of a
// namespace, those of a Placement, or one object.
type State struct {
	// Current is the recorded decision; the first is the longest there.
	Current []string
	// Wanted is what Choose picks now. Empty means that no target fits, or that nothing is wished: the group stays where it is.
	Wanted []string
	// Suspended holds the decision as it is, whatever is wanted.
	Suspended bool
	// Empty: the group has no objects, so there is nothing to keep available.
	Empty bool
	// Gone are targets of Current that do not exist any more.
	Gone []string
	// Volumes names, per target, the volumes that the group has there.
	Volumes map[string][]string
	// NotReady names, per target of Wanted, an object that is not available (or not applied) there yet, and why.
	NotReady map[string]string
}

// Phase is where a move stands.
type Phase string

// The phases.
const (
	// Settled: the group is where it should be.
	Settled Phase = "Settled"
	// Starting: the new targets are added in this step.
	Starting Phase = "Starting"
	// Waiting: until the new targets are ready nothing is removed.
	Waiting Phase = "Waiting"
	// Finishing: the old targets are removed in this step.
	Finishing Phase = "Finishing"
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
}

// Next is the make-before-break machine. Recorded decisions go A -> (A,B) -> B; the second step is made only when NotReady
// names no wanted target. It depends on the record and the state alone, so that a center that restarts in the middle goes on.
func Next(s State) Step {
	if s.Suspended {
		return Step{Decision: s.Current, Phase: Suspended, Message: "spec.suspend holds the decision as it is"}
	}
	current := without(s.Current, s.Gone)
	switch {
	case len(s.Wanted) == 0:
		return Step{Decision: current, Phase: Staying}
	case len(current) == 0, s.Empty:
		return Step{Decision: s.Wanted, Phase: phaseOf(Settled, s.Current, s.Wanted)}
	}
	leaving, joining := without(current, s.Wanted), without(s.Wanted, current)
	if message := stranded(s, current, leaving); message != "" {
		return Step{Decision: current, Phase: VolumeWouldStay, Message: message}
	}
	if len(joining) > 0 {
		phase, message := Settled, ""
		if len(leaving) > 0 {
			phase, message = Starting, fmt.Sprintf("from %s to %s", Join(leaving), Join(joining))
		}
		return Step{Decision: Union(current, joining), Phase: phase, Message: message}
	}
	if len(leaving) == 0 {
		return Step{Decision: current, Phase: Settled}
	}
	staying := without(current, leaving)
	for _, t := range staying {
		if why, ok := s.NotReady[t]; ok {
			return Step{Decision: current, Phase: Waiting,
				Message: fmt.Sprintf("%s is kept until %s is ready: %s", Join(leaving), t, why)}
		}
	}
	return Step{Decision: staying, Phase: Finishing, Message: fmt.Sprintf("ready on %s, leaving %s", Join(staying), Join(leaving))}
}

func phaseOf(p Phase, before, after []string) Phase {
	if Same(before, after) {
		return Settled
	}
	return p
}

// stranded explains why the group may not leave: a target to be left has volumes that no older, staying target has too.
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
			return fmt.Sprintf("%s would be left behind on %s; to let the rest move, pin it and the workload that uses it with the label "+
				"skerry.dev/target=%s", strings.Join(head(volumes, 3), ", "), from, from)
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
