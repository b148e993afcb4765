package fleet

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Move is something that is not where it should be yet, or one that has got there.
type Move struct {
	// Object is what decides about what moves: space/resource.group/namespace/name.
	Object string   `json:"object"`
	From   []string `json:"from"`
	To     []string `json:"to"`
	// Phase is that of a move under way, or Moved or GivenUp of one that ended.
	Phase string `json:"phase"`
	// Since is when it began, of one that ended when it ended. It is absent while its time does not
	// run.
	Since *metav1.Time `json:"since,omitempty"`
	// WaitsFor is what is waited for, of a move that ended what became of it.
	WaitsFor string `json:"waitsFor,omitempty"`
	// Ended is true of a move that is over.
	Ended bool `json:"ended"`
}

// The phases of moves that wait for a person.
var stuck = map[string]string{
	"GivenUp": "mend what it waited for; it is tried again when the objects, the wish or " +
		"the targets change",
	"CannotLeave": "give it another place: its wish, the bounds or a cordoned site keep it; or take the " +
		"drain back: skerry target uncordon",
	"JobRunning": "it goes on when that has ended; delete it to move at once, or have it " +
		"begin anew elsewhere: skerry target drain --jobs Restart",
	"HookFailed": "mend what the hook runs, or take it out of spec.move.beforeLeaving; it is tried again",
	"WouldRunOn": "have its Placement clean what leaves: sync.whenPlacementDeleted: Clean",
	"VolumeWouldStay": "have the data copied: what that lacks is said here, an annotation or what keeps it from being " +
		"done; or move them yourself, or take the wish back",
}

// Moves are those that are under way, the longest first, and then those that ended last. One that
// was given up and waits to be tried again is told once.
func Moves(s *Snapshot) []Move {
	all := underWay(s)
	waiting := map[string]bool{}
	for _, m := range all {
		waiting[m.Object+" "+m.Phase] = true
	}
	for _, m := range s.Ended {
		if !waiting[m.Object+" "+m.Phase] {
			all = append(all, m)
		}
	}
	return all
}

// underWay are the moves under way. A move has several targets, each of which tells it.
func underWay(s *Snapshot) (out []Move) {
	seen := map[string]bool{}
	for i := range s.Sites {
		for _, m := range s.Sites[i].Status.Moves {
			if !seen[m.Object] {
				seen[m.Object] = true
				out = append(out, Move{Object: m.Object, From: m.From, To: m.To, Phase: m.Phase,
					Since:    m.Since,
					WaitsFor: OneLine(m.Message)})
			}
		}
	}
	slices.SortFunc(out, func(a, b Move) int {
		if (a.Since == nil) != (b.Since == nil) {
			if a.Since == nil {
				return 1
			}
			return -1
		}
		if a.Since != nil && !a.Since.Equal(b.Since) {
			return a.Since.Compare(b.Since.Time)
		}
		return cmp.Compare(a.Object, b.Object)
	})
	return out
}

// MoveProblems are the moves that go no further by themselves.
func MoveProblems(s *Snapshot) (out []Problem) {
	for _, m := range underWay(s) {
		do := stuck[m.Phase]
		if do == "" {
			continue
		}
		why, pin, found := strings.Cut(m.WaitsFor, "; to let the rest move,")
		if found {
			do = "to let the rest move," + pin
		}
		from, to := places(m.From), places(m.To)
		what := fmt.Sprintf("%s does not move from %s to %s", m.Object, from, to)
		if len(m.To) == 0 {
			what = fmt.Sprintf("%s does not leave %s", m.Object, from)
		}
		out = append(out, Problem{Kind: moveStuck, Reason: m.Phase, Since: m.Since,
			Cause: what + ": " + why, Do: do,
			what: what, text: why})
	}
	return out
}

// MovePage is what `skerry status --moves` prints.
func MovePage(s *Snapshot) Page {
	moves := Moves(s)
	if len(moves) == 0 {
		return Page{Notes: []Row{note("none", "Nothing moves, and nothing has moved lately.")}}
	}
	p := Page{Head: []string{"OBJECT", "FROM", "TO", "PHASE", "SINCE", "WAITS-FOR"}}
	for i, m := range moves {
		if i == maxMoves {
			p.Notes = append(p.Notes, note("more", fmt.Sprintf("and %d more; all: -o json",
				len(moves)-i)))
			break
		}
		since, waits := "-", m.WaitsFor
		if m.Since != nil {
			since = s.Clock.ago(m.Since.Time)
		}
		key, from, to := "move "+m.Object, places(m.From), places(m.To)
		if m.Ended {
			key = "ended " + m.Object + " " + since
			from = orElse(strings.Join(m.From, ", "), "-")
			to = orElse(strings.Join(m.To, ", "), "-")
		}
		cells := []string{m.Object, from, to, m.Phase, since, waits}
		p.Rows = append(p.Rows, Row{Key: key, Cells: cells})
	}
	for i := range s.Sites {
		st := &s.Sites[i].Status
		if more := int(st.MovesTotal) - len(st.Moves); more > 0 {
			p.Notes = append(p.Notes, note("unnamed "+s.Sites[i].Name, fmt.Sprintf("and %d more from or to %s: its status "+
				"names those that take longest", more, s.Sites[i].Name)))
		}
	}
	return p
}

// maxMoves is how many moves a page shows.
const maxMoves = 100

// moveNotes are the moves under way below a table.
func moveNotes(s *Snapshot) (rows []Row) {
	for _, m := range underWay(s) {
		rows = append(rows, note("move "+m.Object, s.Clock.move(m)))
	}
	return rows
}

func (c Clock) move(m Move) string {
	if m.Phase == "Staying" {
		return fmt.Sprintf("%s stays on %s: %s", m.Object, places(m.From), orElse(m.WaitsFor, "no target fits"))
	}
	text := fmt.Sprintf("%s moves from %s to %s", m.Object, places(m.From), places(m.To))
	if m.Since != nil {
		text += " " + c.lasting(m.Since.Time)
	}
	return fmt.Sprintf("%s (%s): %s", text, m.Phase, m.WaitsFor)
}

// ends read what the Event of a move that ended says of where from and to it was.
var ends = []*regexp.Regexp{
	regexp.MustCompile(`^ready on (?P<to>[^ ]+), (?:left|leaving) (?P<from>[^ ]+)$`),
	regexp.MustCompile(`^gone from (?P<from>[^ ]+), placed on (?P<to>[^ ]+)$`),
	regexp.MustCompile(`^not moved to (?P<to>[^ ]+), kept on (?P<from>[^ :]+): `),
}

// EndedMove is a move that is over, as the Event about it says. Reason is Moved or MoveGivenUp.
func EndedMove(object, reason, message string, at metav1.Time) Move {
	m := Move{Object: object, Phase: strings.TrimPrefix(reason, "Move"), Since: &at,
		WaitsFor: OneLine(message), Ended: true}
	if reason == "Moved" {
		m.Phase = reason
	}
	for _, end := range ends {
		if found := end.FindStringSubmatch(message); found != nil {
			m.From = strings.Split(found[end.SubexpIndex("from")], ",")
			m.To = strings.Split(found[end.SubexpIndex("to")], ",")
		}
	}
	return m
}
