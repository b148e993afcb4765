package sessions

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// maxOusted is how many agents that were replaced are remembered with a session.
const maxOusted = 4

// rivalTime is how long a site is said to have two agents after they took turns the last time. Each
// waits half a minute to a minute before it comes again.
const rivalTime = 15 * time.Minute

// duplicateAgents is what a session knows of the agents whose place it took. One that was replaced
// and comes back is no restart, which has another instance each time: two agents run with one
// identity, and one of them is a copy.
type duplicateAgents struct {
	ousted []string // instances, the last one at the end
	from   string   // where the other one is
	at     time.Time
}

// replaces notes that a session takes the place of another that was alive. It reports whether two
// take turns.
func (s *session) replaces(old *session, now time.Time) bool {
	was, is := old.hello.Instance, s.hello.Instance
	s.duplicateAgents = old.duplicateAgents
	if was == "" || was == is {
		return false
	}
	turns := slices.Contains(old.ousted, is)
	s.ousted = append(slices.Clone(old.ousted[max(0, len(old.ousted)-maxOusted+1):]), was)
	if turns {
		s.from, s.at = old.conn.RemoteAddr().String(), now
	}
	return turns
}

// duplicateCondition says in the status whether two agents took turns lately. What never happened
// is not mentioned.
func duplicateCondition(st *v1alpha1.SyncTarget, s *session, now time.Time) {
	if !s.at.IsZero() && now.Sub(s.at) < rivalTime {
		set(
			st,
			v1alpha1.ConditionUnique,
			metav1.ConditionFalse,
			"TwoAgents",
			fmt.Sprintf("two agents with the key of this site take turns, from %s and from %s: one is a copy "+
				"of the other. Stop the copy, remove its data directory and let it join with a token and a "+
				"name of its own", s.conn.RemoteAddr(), s.from),
		)
		return
	}
	for _, c := range st.Status.Conditions {
		if c.Type == v1alpha1.ConditionUnique {
			set(st, v1alpha1.ConditionUnique, metav1.ConditionTrue, "OneAgent", "one agent has the key of this site")
		}
	}
}
