package fleet

import (
	"fmt"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel/output"
)

var (
	columns = []string{"NAME", "CONNECTED", "SYNCED", "KIND", "BELOW", "DESIRED", "APPLIED",
		"REFUSED", "LAST-SEEN",
		"VERSION", "TRANSPORT"}
	wideColumns = []string{"AGENT", "LINK", "DOWN-TODAY", "UP-TODAY", "PENDING"}
)

// Table is all sites, one a row; wide, also their agents' versions, and what crossed their links today.
func Table(s *Snapshot, wide bool) Page {
	p := Page{Head: columns}
	if wide {
		p.Head = slices.Concat(columns, wideColumns)
	}
	for i := range s.Sites {
		t := &s.Sites[i]
		cells := s.Clock.row(t)
		if wide {
			cells = append(append(cells, t.Status.AgentVersion), linkCells(t, s.Clock.Now)...)
		}
		p.Rows = append(p.Rows, Row{Key: "site " + t.Name, Cells: cells})
	}
	return p
}

// Overview is the table with what is wrong and what moves below. Of a fleet of more than Many sites
// it is a summary, and the table of the worst.
func Overview(s *Snapshot, wide bool) Page {
	problems := Problems(s)
	if len(s.Sites) <= Many {
		p := Table(s, wide)
		p.Notes = slices.Concat(s.Clock.notes(problems), cordonNotes(s), holdNotes(s), nameNotes(s),
			moveNotes(s))
		return p
	}
	some := *s
	some.Sites = worst(s.Sites, problems)
	p := Table(&some, wide)
	p.Notes = append(p.Notes, note("summary", summary(s, problems)))
	p.Notes = slices.Concat(p.Notes, s.Clock.notes(problems), cordonNotes(s), holdNotes(s), nameNotes(s))
	if n := len(underWay(s)); n > 0 {
		text := Counted(n, "move") + " under way: skerry status --moves"
		p.Notes = append(p.Notes, note("moves", text))
	}
	return p
}

// FormerNames says which names the center's certificate keeps, and who dials them; it is empty for none.
func FormerNames(names []v1alpha1.FormerName) string {
	if len(names) == 0 {
		return ""
	}
	var kept []string
	for _, n := range names {
		text := n.Name
		if len(n.Sites) > 0 {
			text += " (dialled by " + first(n.Sites, namedInGroup) + ")"
		}
		kept = append(kept, text)
	}
	return "no longer advertised, and kept in the center's certificate: " + strings.Join(kept, ", ") +
		"; skerry ca forget NAME takes one off, and kubeconfigs that have it are refused then"
}

func nameNotes(s *Snapshot) []Row {
	if text := FormerNames(s.Former); text != "" {
		return []Row{note("names", text)}
	}
	return nil
}

// cordonNotes say which sites get nothing new.
func cordonNotes(s *Snapshot) []Row {
	var names []string
	for i := range s.Sites {
		if s.Sites[i].Spec.Unschedulable {
			names = append(names, s.Sites[i].Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []Row{note("cordoned", "cordoned, so that nothing new is placed there: "+first(names, namedInGroup)+
		"; skerry target uncordon NAME ends it")}
}

// holdNotes say which sites take no other release.
func holdNotes(s *Snapshot) []Row {
	var names []string
	for i := range s.Sites {
		if heldBy(&s.Sites[i]) != "" {
			names = append(names, s.Sites[i].Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []Row{note("held", "held, so that they keep the releases that they have: "+first(names, namedInGroup)+
		"; skerry status NAME says by whom. Placements without releases are not held")}
}

// heldBy says by whom releases are held on a site, empty where they are not.
func heldBy(t *v1alpha1.SyncTarget) string {
	c := apimeta.FindStatusCondition(t.Status.Conditions, v1alpha1.ConditionTakesReleases)
	if c == nil || c.Status != metav1.ConditionFalse {
		return ""
	}
	return c.Message
}

// summary counts the sites of a large fleet.
func summary(s *Snapshot, problems []Problem) string {
	var reached, relays, objects, applied, refused int
	for i := range s.Sites {
		t := &s.Sites[i]
		if connected(t) {
			reached++
		}
		if t.Status.Relay {
			relays++
		}
		objects, applied = objects+int(t.Status.Objects), applied+int(t.Status.Applied)
		refused += int(t.Status.Refused)
	}
	wrong := map[string]bool{}
	for _, p := range problems {
		if p.Site != "" {
			wrong[p.Site] = true
		}
	}
	return fmt.Sprintf("%d sites (%s): %d connected, %d not; %d objects: "+
		"%d applied, %d refused. "+
		"%s with a problem; above are the worst %d. All of them: skerry target list",
		len(s.Sites), Counted(relays, "relay"), reached, len(s.Sites)-reached, objects, applied, refused,
		Counted(len(wrong), "site"),
		min(Worst, len(wrong)))
}

// worst are the sites with the worst problems, at most Worst.
func worst(sites []v1alpha1.SyncTarget, problems []Problem) (out []v1alpha1.SyncTarget) {
	byName := map[string]*v1alpha1.SyncTarget{}
	for i := range sites {
		byName[sites[i].Name] = &sites[i]
	}
	for _, p := range problems {
		if t := byName[p.Site]; t != nil && len(out) < Worst {
			out = append(out, *t)
			delete(byName, p.Site)
		}
	}
	return out
}

func (c Clock) row(t *v1alpha1.SyncTarget) []string {
	st, transport := &t.Status, t.Status.Transport
	if !connected(t) {
		transport = ""
	}
	synced := string(metav1.ConditionUnknown)
	if c := condition(t, v1alpha1.ConditionSynced); c != nil {
		synced = string(c.Status)
	}
	return []string{t.Name, c.connection(t), synced, kind(t), below(t), fmt.Sprint(st.Objects),
		fmt.Sprint(st.Applied),
		fmt.Sprint(st.Refused), c.lastSeen(t), st.KubernetesVersion, transport}
}

// connection is the condition Connected, with how long the target has been silent.
func (c Clock) connection(t *v1alpha1.SyncTarget) string {
	if since, is := silence(t); is {
		if c.Stamps {
			return "Silent"
		}
		return "Silent " + duration.HumanDuration(max(0, c.Now.Sub(since)))
	}
	if is := condition(t, v1alpha1.ConditionConnected); is != nil {
		return string(is.Status)
	}
	return string(metav1.ConditionUnknown)
}

// lastSeen is when a target was last heard of: now while it is connected.
func (c Clock) lastSeen(t *v1alpha1.SyncTarget) string {
	_, silent := silence(t)
	switch last := t.Status.LastSeen; {
	case connected(t) && !silent:
		return "now"
	case last == nil:
		return "never"
	default:
		return c.ago(last.Time)
	}
}

// below is how many of the sites below a relay are connected, and of how many; what a relay that is
// not connected itself last said of that is old.
func below(t *v1alpha1.SyncTarget) string {
	b := t.Status.Below
	switch {
	case b == nil || b.Targets == nil:
		return "-"
	case !connected(t) || b.Connected == nil:
		return fmt.Sprintf("?/%d", *b.Targets)
	}
	return fmt.Sprintf("%d/%d", *b.Connected, *b.Targets)
}

// linkCells are the class of a target's link, and what crossed it today or waits to.
func linkCells(t *v1alpha1.SyncTarget, now time.Time) []string {
	today := bytesToday(t, now)
	return []string{class(t), output.Bytes(today.Down), output.Bytes(today.Up), output.Bytes(t.Status.PendingBytes)}
}

func class(t *v1alpha1.SyncTarget) string {
	if l := t.Spec.Link; l != nil && l.Class != "" {
		return string(l.Class)
	}
	return string(v1alpha1.LinkLAN)
}

// bytesToday are those of today: a status of an earlier day says nothing of today.
func bytesToday(t *v1alpha1.SyncTarget, now time.Time) v1alpha1.BytesToday {
	if b := t.Status.BytesToday; b != nil && b.Date == now.UTC().Format(time.DateOnly) {
		return *b
	}
	return v1alpha1.BytesToday{}
}

// notes are the problems below a table: each on its own while they are few, else those of one kind
// together.
func (c Clock) notes(problems []Problem) (rows []Row) {
	if len(problems) > grouped {
		return groups(problems)
	}
	for _, p := range problems {
		rows = append(rows, note(p.key(), strings.Join(c.said(p), "\n")))
	}
	return rows
}
