package summary

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// condition is a condition that we add, with the time since when.
type condition struct {
	placement.Condition
	since time.Time
}

func (c condition) json() map[string]any {
	status := "False"
	if c.Status {
		status = "True"
	}
	return map[string]any{"type": c.Type, "status": status, "reason": c.Reason, "message": c.Message,
		"lastTransitionTime": c.since.UTC().Format(time.RFC3339)}
}

// SetCondition puts a condition of a decision on a placed object; one that is as it should be is
// taken off.
func (s *Summary) SetCondition(k store.Key, c placement.Condition) {
	quiet := c.Status || (c.Type == v1alpha1.ConditionObjectMoving && c.Reason == string(placement.Settled))
	if c.Type == v1alpha1.ConditionObjectMoving && c.Status {
		quiet = false
	}
	if c.Type == v1alpha1.ConditionReplicated {
		quiet = c.Reason == "" // a standby is told of also where it is as it should be
	}
	s.mu.Lock()
	s.setExtraLocked(k, c, quiet)
	s.mu.Unlock()
	s.queue.Add(k)
}

func (s *Summary) setExtraLocked(k store.Key, c placement.Condition, remove bool) {
	old, had := s.extra[k][c.Type]
	if remove {
		delete(s.extra[k], c.Type)
		if len(s.extra[k]) == 0 {
			delete(s.extra, k)
		}
		return
	}
	if s.extra[k] == nil {
		s.extra[k] = map[string]condition{}
	}
	n := condition{c, time.Now()}
	if had && old.Status == c.Status {
		n.since = old.since
	}
	s.extra[k][c.Type] = n
}

// refusalCondition says what targets refuse, as a condition and as an Event, and takes the
// condition off when they do not any more. It returns the same as the annotation skerry.dev/refused
// has it.
func (s *Summary) refusalCondition(at placement.Located, reports []*store.Report) string {
	found := append(s.refusals(at, reports), s.refusedNeeds(at)...)
	var lines []string
	var news []placement.Event
	reason := ""
	changed := false
	defer func() {
		if changed {
			s.wakeNeeding(at.Key)
		}
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := map[string]string{}
	for _, r := range found {
		reason = r.reason
		for _, t := range r.targets {
			now[t] = r.line
		}
		lines = append(lines, r.line)
		if !s.saidLocked(at.Key, r) {
			news = append(
				news,
				placement.Event{Key: at.Key, APIVersion: at.APIVersion, Kind: at.Kind, UID: at.UID, Warning: true,
					Reason: r.reason, Message: r.line},
			)
		}
	}
	changed = !maps.Equal(s.refused[at.Key], now)
	if delete(s.refused, at.Key); len(now) > 0 {
		s.refused[at.Key] = now
	}
	s.setExtraLocked(
		at.Key,
		placement.Condition{Type: v1alpha1.ConditionObjectSynced, Reason: reason, Message: first(lines, 3)},
		len(lines) == 0,
	)
	for _, e := range news {
		s.events.record(e)
	}
	if len(lines) == 0 {
		return ""
	}
	return string(encode(store.ReportError{Reason: reason, Message: first(lines, 3)}))
}

// refusal is one line of what is refused of an object, and the targets that lack it therefore.
type refusal struct {
	reason, line string
	targets      []string
}

// refusals are what targets refuse of an object, or else what the center does not send.
func (s *Summary) refusals(at placement.Located, reports []*store.Report) (out []refusal) {
	if why, ok := s.unsent.of(at.Key); ok {
		return []refusal{{why.Reason, why.Message, at.Targets}}
	}
	for i, r := range reports {
		if r != nil && r.Error != nil {
			out = append(out, refusal{r.Error.Reason, at.Targets[i] + ": " + r.Error.Message, at.Targets[i : i+1]})
		}
	}
	return out
}

// saidLocked reports whether people were told of a refusal already.
func (s *Summary) saidLocked(k store.Key, r refusal) bool {
	for _, t := range r.targets {
		if s.refused[k][t] == r.line {
			return true
		}
	}
	return false
}

func first(lines []string, n int) string {
	if len(lines) > n {
		return strings.Join(lines[:n], "; ") + fmt.Sprintf("; and %d more", len(lines)-n)
	}
	return strings.Join(lines, "; ")
}
