package variant

import (
	"fmt"
	"slices"
)

// Selector is a label selector of Kubernetes. One without requirements matches everything.
type Selector struct {
	MatchLabels      map[string]string `json:"matchLabels,omitempty"`
	MatchExpressions []Requirement     `json:"matchExpressions,omitempty"`
}

// Requirement is one of a Selector.
type Requirement struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values,omitempty"`
}

// Matches reports whether labels satisfy all requirements.
func (s *Selector) Matches(labels map[string]string) bool {
	for k, v := range s.MatchLabels {
		if have, ok := labels[k]; !ok || have != v {
			return false
		}
	}
	return !slices.ContainsFunc(s.MatchExpressions, func(r Requirement) bool { return !r.matches(labels) })
}

func (r Requirement) matches(labels map[string]string) bool {
	have, ok := labels[r.Key]
	switch r.Operator {
	case "In":
		return ok && slices.Contains(r.Values, have)
	case "NotIn":
		return !ok || !slices.Contains(r.Values, have)
	case "Exists":
		return ok
	case "DoesNotExist":
		return !ok
	}
	return false
}

// Empty reports whether a selector has no requirements.
func (s *Selector) Empty() bool {
	return s == nil || len(s.MatchLabels) == 0 && len(s.MatchExpressions) == 0
}

// Check returns the first requirement that is not understood, nil when all are.
func (s *Selector) Check() (first error) {
	s.problems("labelSelector", func(p Problem) {
		if first == nil {
			first = p
		}
	})
	return first
}

func (s *Selector) problems(field string, say func(Problem)) {
	if s == nil {
		return
	}
	if n := len(s.MatchLabels) + len(s.MatchExpressions); n > MaxChanges {
		say(Problem{field, fmt.Sprintf("%d requirements, at most %d", n, MaxChanges)})
	}
	for i, r := range s.MatchExpressions {
		at := fmt.Sprintf("%s.matchExpressions[%d]", field, i)
		switch r.Operator {
		case "In", "NotIn":
			if len(r.Values) == 0 {
				say(Problem{at + ".values", "must not be empty with " + r.Operator})
			}
		case "Exists", "DoesNotExist":
			if len(r.Values) > 0 {
				say(Problem{at + ".values", "must be empty with " + r.Operator})
			}
		default:
			say(Problem{at + ".operator", fmt.Sprintf(
				"%.40q is unknown: write In, NotIn, Exists or DoesNotExist", r.Operator)})
		}
		if r.Key == "" {
			say(Problem{at + ".key", "must not be empty"})
		}
	}
}
