package summary

import (
	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// fieldsAltered is the reason of an object that is at its targets, but not all that was sent of it.
const fieldsAltered = "FieldsAltered"

// alteredCondition says what targets took off an object or changed when it was applied, as a condition
// and as an Event, and takes the condition off when they do not any more. It returns the same as the
// annotation skerry.dev/altered has it.
func (s *Summary) alteredCondition(at placement.Located, reports []*store.Report) string {
	var lines []string
	for i, r := range reports {
		if r != nil && r.Altered != "" {
			lines = append(lines, at.Targets[i]+": "+r.Altered)
		}
	}
	says := placement.Condition{Type: v1alpha1.ConditionObjectAltered, Status: true, Reason: fieldsAltered,
		Message: first(lines, 3)}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.extra[at.Key][says.Type]
	s.setExtraLocked(at.Key, says, len(lines) == 0)
	if len(lines) > 0 && old.Message != says.Message {
		s.events.record(placement.Event{Key: at.Key, APIVersion: at.APIVersion, Kind: at.Kind, UID: at.UID, Warning: true,
			Reason: fieldsAltered, Message: says.Message})
	}
	return says.Message
}
