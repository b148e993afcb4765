package placement

import (
	"fmt"
	"time"
)

func (s State) makeBeforeBreak(current, leaving, joining []string) Step {
	switch {
	case len(leaving) == 0:
		return Step{Decision: Union(current, joining), Phase: Settled}
	case len(joining) > 0:
		return Step{Decision: Union(current, joining), Phase: Starting, Move: s.begun(current, true),
			Message: fmt.Sprintf("from %s to %s", Join(leaving), Join(joining))}
	}
	staying := without(current, leaving)
	for _, t := range staying {
		if why, ok := s.NotReady[t]; ok {
			return s.wait(current, fmt.Sprintf("%s is not ready: %s", t, why),
				fmt.Sprintf("%s is kept until %s is ready: %s", Join(leaving), t, why))
		}
	}
	return Step{
		Decision: staying,
		Phase:    Finishing,
		Message:  fmt.Sprintf("ready on %s, leaving %s", Join(staying), Join(leaving)),
	}
}

func (s State) breakBeforeMake(current, leaving, joining []string) Step {
	switch {
	case len(leaving) > 0:
		for _, t := range leaving {
			if why, ok := s.Unseen[t]; ok {
				return s.wait(current, fmt.Sprintf("%s has not said what it has: %s", t, why),
					fmt.Sprintf("removed from %s once it has said what it has: %s", t, why))
			}
		}
		m := s.begun(current, false)
		m.Left = Union(m.Left, leaving)
		return Step{Decision: without(current, leaving), Phase: Breaking, Move: m,
			Message: fmt.Sprintf("from %s to %s, removed first", Join(leaving), Join(s.Wanted))}
	case s.Move == nil:
		return Step{Decision: Union(current, joining), Phase: Settled}
	case len(joining) > 0:
		if t, what := s.remains(s.Wanted); t != "" {
			return s.wait(current, fmt.Sprintf("%s still has %s", t, what),
				fmt.Sprintf("placed on %s once %s is gone from %s", Join(joining), what, t))
		}
		return Step{Decision: Union(current, joining), Phase: Starting, Move: s.begun(current, true),
			Message: fmt.Sprintf("gone from %s, placed on %s", Join(without(s.Move.Left, s.Wanted)), Join(joining))}
	}
	for _, t := range without(s.Wanted, s.Move.From) {
		if why, ok := s.NotReady[t]; ok {
			return s.wait(
				current,
				fmt.Sprintf("%s is not ready: %s", t, why),
				fmt.Sprintf("%s is not ready yet: %s", t, why),
			)
		}
	}
	return Step{Decision: current, Phase: Finishing, Message: fmt.Sprintf("ready on %s, left %s", Join(current),
		Join(without(s.Move.From, s.Wanted)))}
}

// begun is the record of the move that goes on. It keeps where the group came from; its time begins
// anew with another half or another wish.
func (s State) begun(current []string, anew bool) *Move {
	m := Move{From: current, To: s.Wanted}
	if s.Move != nil {
		m.From, m.Left = s.Move.From, s.Move.Left
		if !anew && Same(s.Move.To, s.Wanted) {
			m.Since = s.Move.Since
		}
	}
	return &m
}

// wait changes nothing, until that has taken too long. Whatever has no record of a move waits for
// ever: it has nowhere to go back to.
func (s State) wait(current []string, problem, message string) Step {
	if s.Move == nil && !s.BreakFirst {
		return Step{Decision: current, Phase: Waiting, Message: message}
	}
	m := s.begun(current, false)
	if !s.Overdue || s.Move == nil || !Same(s.Move.To, s.Wanted) {
		return Step{Decision: current, Phase: Waiting, Message: message, Move: m}
	}
	from := without(m.From, s.Gone)
	if len(from) == 0 {
		return Step{Decision: current, Phase: Waiting, Message: message, Move: m}
	}
	if Same(from, s.Wanted) && s.BreakFirst {
		return Step{Decision: current, Phase: Waiting, Message: message, Move: m}
	}
	if Same(from, s.Wanted) {
		return Step{Decision: from, Phase: Finishing, Message: "back on " + Join(from)}
	}
	s.Move = &Move{From: m.From, To: s.Wanted, Left: m.Left, GaveUp: s.Fingerprint, Message: problem,
		Absent: without(s.Absent, without(s.Absent, s.Wanted))}
	return s.back(current, from)
}

// back goes to where the group came from, in one decision, or in two when it must not be in two
// places.
func (s State) back(current, from []string) Step {
	step := Step{Decision: from, Phase: GivenUp, Move: s.Move, Message: fmt.Sprintf(
		"not moved to %s, kept on %s: %s. It is tried again when the objects, the wish or the targets change",
		Join(s.Move.To),
		Join(from),
		s.Move.Message,
	)}
	leaving := without(current, from)
	if message := stranded(s, Union(from, leaving), leaving); message != "" {
		return Step{Decision: current, Phase: VolumeWouldStay, Message: message, Move: s.Move}
	}
	if !s.BreakFirst || len(without(from, current)) == 0 {
		return step
	}
	if len(leaving) > 0 {
		m := *s.Move
		m.Left = Union(m.Left, leaving)
		step.Decision, step.Move = without(current, leaving), &m
		return step
	}
	if t, _ := s.remains(from); t != "" {
		step.Decision = current
	}
	return step
}

// remains names a target that was left, is not one of these, and still has something of the group.
func (s State) remains(but []string) (target, what string) {
	for _, t := range without(s.Move.Left, but) {
		if what, ok := s.Present[t]; ok && !contains(s.Gone, t) {
			return t, what
		}
	}
	return "", ""
}

// joined reports whether a move has added targets beside those that the group came from, and could
// take them off again without leaving a volume behind.
func (s State) joined(current []string) bool {
	if s.Move == nil || s.Move.GaveUp != "" || s.BreakFirst {
		return false
	}
	from := without(s.Move.From, s.Gone)
	fresh := without(current, from)
	return len(from) > 0 && len(fresh) > 0 && len(without(from, current)) == 0 && stranded(s, current, fresh) == ""
}

// paused is the record of a move whose time does not run.
func (s State) paused() *Move {
	if s.Move == nil || s.Move.Since.IsZero() {
		return s.Move
	}
	m := *s.Move
	m.Since = time.Time{}
	return &m
}

// changed reports whether a move that was given up is worth another try.
func (s State) changed() bool {
	if s.Move.GaveUp != s.Fingerprint {
		return true
	}
	for _, t := range s.Move.Absent {
		if !contains(s.Absent, t) {
			return true
		}
	}
	return false
}
