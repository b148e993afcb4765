package v1alpha1

import "fmt"

// RefusedText says how many objects a target refuses, of all that it is to have. Deletions that it cannot
// carry out are refused, too, and it is to have nothing of these.
func (s *SyncTargetStatus) RefusedText() string {
	switch {
	case s.Refused <= s.Objects:
		return fmt.Sprintf("%d of %d objects", s.Refused, s.Objects)
	case s.Refused == 1:
		return "1 object"
	}
	return fmt.Sprintf("%d objects", s.Refused)
}
