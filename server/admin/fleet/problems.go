package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// Problem is one thing that is not as it should be.
type Problem struct {
	// Site is the name of the SyncTarget, Space that of a Space; both are empty where it is the
	// center.
	Site  string `json:"site,omitempty"`
	Space string `json:"space,omitempty"`
	// Kind is the type of the condition that is False, or NotJoined, Silent, Held, Refused, Move,
	// CenterNotReady or UnknownAgents.
	Kind   string `json:"kind"`
	Reason string `json:"reason,omitempty"`
	// Since is when it began, absent where nobody knows.
	Since *metav1.Time `json:"since,omitempty"`
	// Cause is what is wrong and with whom, Do the one thing to do.
	Cause string `json:"cause"`
	Do    string `json:"do"`
	// Objects are the first of the objects that a site refuses.
	Objects []v1alpha1.Refusal `json:"objects,omitempty"`

	what  string // the words after the name, such as "is not connected"
	text  string // what the site or the center says
	relay bool   // the site is one
	whole bool   // text says already what to do
	more  int    // objects that are refused beside Objects
}

// The kinds of problems that are no conditions.
const (
	notJoined = "NotJoined"
	silent    = "Silent"
	held      = "Held"
	refuses   = "Refused"
	moveStuck = "Move"
)

// known are the words for conditions that are False, after the name of the target. Others are
// printed with their type.
var known = map[string]string{
	v1alpha1.ConditionConnected:        "is not connected",
	v1alpha1.ConditionSynced:           "is not synced",
	v1alpha1.ConditionSubtreeHealthy:   "is a relay with trouble below",
	v1alpha1.ConditionUnique:           "is there twice",
	v1alpha1.ConditionReportsKept:      "reports too much",
	v1alpha1.ConditionWithinBounds:     "has more than its bounds",
	v1alpha1.ConditionCapacityKnown:    "does not say what it has",
	v1alpha1.ConditionDrained:          "is not drained",
	v1alpha1.ConditionWithinBudget:     "has used up its link's budget",
	v1alpha1.ConditionClockInSync:      "has a clock that is wrong",
	v1alpha1.ConditionCertificateValid: "has a certificate that is not valid",
	v1alpha1.ConditionTargetReachable:  "does not reach its cluster",
	v1alpha1.ConditionStoreHealthy:     "cannot keep what it is sent",
	v1alpha1.ConditionLeaseHeld:        "has stopped what must not run twice",
	v1alpha1.ConditionLeaseConfirmed:   "has not confirmed its lease",
	v1alpha1.ConditionStable:           "was lost several times",
	v1alpha1.ConditionVersionAsWished:  "has another version than is wished",
}

// Problems are those of all sites, of the center and its spaces, the worst first.
func Problems(s *Snapshot) []Problem {
	out := slices.Clone(s.Wrong)
	for i := range s.Sites {
		out = append(out, s.Clock.of(&s.Sites[i])...)
	}
	slices.SortStableFunc(out, worse)
	return out
}

// of are the problems of one site: every condition that is False, and what it refuses or holds.
func (c Clock) of(t *v1alpha1.SyncTarget) (out []Problem) {
	st := &t.Status
	add := func(kind, reason, what, text string, since *metav1.Time) {
		p := Problem{Site: t.Name, Kind: kind, Reason: reason, Since: since, what: what, text: OneLine(text),
			relay: t.Status.Relay}
		p.resolve()
		out = append(out, p)
	}
	if !joined(t) {
		add(notJoined, "", "is not connected", "its agent has not dialled yet", nil)
	}
	if since, is := silence(t); is {
		add(silent, v1alpha1.ReasonSilent, "is silent "+c.lasting(since),
			"the link, or the machine, may be down; what runs there goes on",
			&metav1.Time{Time: since})
	}
	if h := st.Held; h != nil {
		add(held, h.Reason, "holds ("+h.Reason+")", h.Message, nil)
	}
	for i := range st.Conditions {
		if c := &st.Conditions[i]; c.Status == metav1.ConditionFalse && !repeats(st, c) &&
			(c.Type != v1alpha1.ConditionConnected || joined(t)) {
			what := orElse(known[c.Type], "has the condition "+c.Type+"=False ("+c.Reason+")")
			add(c.Type, c.Reason, what, c.Message, sinceOf(c))
		}
	}
	if st.Refused > 0 {
		add(refuses, "", "refuses "+st.RefusedText(), "", nil)
		p := &out[len(out)-1]
		p.Objects, p.more = st.Refusals, int(st.Refused)-len(st.Refusals)
	}
	return out
}

func sinceOf(c *metav1.Condition) *metav1.Time {
	if c.LastTransitionTime.IsZero() {
		return nil
	}
	return &c.LastTransitionTime
}

// repeats reports whether a condition that is False says only what another problem says, or what is
// wanted so.
func repeats(st *v1alpha1.SyncTargetStatus, c *metav1.Condition) bool {
	if c.Type == v1alpha1.ConditionCenterTrusted {
		return st.Held != nil
	}
	if c.Type == v1alpha1.ConditionTakesReleases {
		return true // somebody wants it so; holdNotes says it
	}
	if c.Type == v1alpha1.ConditionDrained {
		return c.Reason == "Draining" || c.Reason == "Emptying" // which an admin asked for
	}
	if c.Type != v1alpha1.ConditionSynced {
		return false
	}
	return st.Held != nil || slices.ContainsFunc(st.Conditions, func(other metav1.Condition) bool {
		return other.Type != c.Type && other.Status == metav1.ConditionFalse && other.Reason == c.Reason &&
			other.Message == c.Message
	})
}

// subject is who has the problem.
func (p *Problem) subject() string {
	switch {
	case p.Site != "":
		return p.Site
	case p.Space != "":
		return "space " + p.Space
	}
	return ""
}

func (p *Problem) key() string { return "problem " + p.subject() + " " + p.Kind + " " + p.what }

// severity orders kinds of problems: the first of them stop most.
var severity = []string{
	"CenterNotReady",
	"UnknownAgents",
	v1alpha1.ConditionUnique,
	v1alpha1.ConditionCenterTrusted,
	held,
	v1alpha1.ConditionConnected,
	v1alpha1.ConditionTargetReachable,
	v1alpha1.ConditionStoreHealthy,
	v1alpha1.ConditionCertificateValid,
	v1alpha1.ConditionSubtreeHealthy,
	refuses,
	moveStuck,
	v1alpha1.ConditionReportsKept,
	v1alpha1.ConditionLeaseHeld,
	v1alpha1.ConditionSynced,
	v1alpha1.ConditionClockInSync,
	silent,
	v1alpha1.ConditionLeaseConfirmed,
	v1alpha1.ConditionStable,
	v1alpha1.ConditionWithinBudget,
	v1alpha1.ConditionWithinBounds,
	v1alpha1.ConditionDrained,
	v1alpha1.ConditionCapacityKnown,
	v1alpha1.ConditionVersionAsWished,
	notJoined,
}

func rank(kind string) int {
	if i := slices.Index(severity, kind); i >= 0 {
		return i
	}
	return len(severity)
}

// worse orders problems: by their kinds, then what lasts longest, then by name.
func worse(a, b Problem) int {
	if c := cmp.Compare(rank(a.Kind), rank(b.Kind)); c != 0 {
		return c
	}
	switch {
	case a.Since != nil && b.Since != nil && !a.Since.Equal(b.Since):
		return a.Since.Compare(b.Since.Time)
	case (a.Since == nil) != (b.Since == nil):
		if a.Since != nil {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.subject(), b.subject())
}

// grouped is how many problems are said one by one.
const grouped = 50

// namedInGroup is how many sites a group of problems names.
const namedInGroup = 5

// groups says problems of one kind and reason together.
func groups(problems []Problem) (rows []Row) {
	type group struct {
		first Problem
		names []string
	}
	var order []string
	by := map[string]*group{}
	for _, p := range problems {
		key := p.Kind + " " + p.Reason
		if p.Site == "" {
			key += " " + p.subject()
		}
		if by[key] == nil {
			by[key] = &group{first: p}
			order = append(order, key)
		}
		by[key].names = append(by[key].names, p.subject())
	}
	for _, key := range order {
		g := by[key]
		if len(g.names) == 1 {
			rows = append(rows, note("problem "+key, g.first.Cause+"\n    do: "+g.first.Do))
			continue
		}
		word, reason := orElse(states[g.first.Kind], g.first.Kind), orElse(g.first.Reason, g.first.Kind)
		text := fmt.Sprintf("%d sites: %s (%s): %s\n    of %s: %s", len(g.names), word, reason,
			first(g.names, namedInGroup), g.names[0], g.first.Do)
		rows = append(rows, note("problem "+key, text))
	}
	return rows
}

// ProblemPage is what `skerry status --problems` prints: cause and what to do.
func ProblemPage(problems []Problem) (page Page) {
	if len(problems) > grouped {
		return Page{Rows: groups(problems)}
	}
	for _, p := range problems {
		text := p.Cause
		for _, o := range p.objects() {
			text += "\n" + o
		}
		page.Rows = append(page.Rows, note(p.key(), text+"\n    do: "+p.Do))
	}
	return page
}

// said are the lines of a problem below a table.
func (c Clock) said(p Problem) []string {
	line := strings.TrimSpace(p.subject() + " " + p.what)
	switch {
	case p.Site == "":
		line = p.Cause + "; " + p.Do
	case p.text == "":
		line += ":"
	case p.whole:
		line += ": " + p.text
	default:
		line += ": " + p.text + "; " + p.Do
	}
	return append([]string{line}, p.few().objects()...)
}

// saidObjects is how many objects of one problem are named below a table.
const saidObjects = 3

// few is the problem with the first of its objects alone.
func (p Problem) few() *Problem {
	if more := len(p.Objects) - saidObjects; more > 0 {
		p.Objects, p.more = p.Objects[:saidObjects], p.more+more
	}
	return &p
}

func (p *Problem) objects() (lines []string) {
	for _, r := range p.Objects {
		lines = append(lines, fmt.Sprintf("  %s (%s): %s", r.Object, r.Reason, OneLine(r.Message)))
	}
	if p.more > 0 && len(p.Objects) > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more: skerry status %s", p.more, p.Site))
	}
	return lines
}
