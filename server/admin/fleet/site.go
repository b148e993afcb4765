package fleet

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel/output"
)

// Site is all that the status of one SyncTarget says.
func Site(s *Snapshot, t *v1alpha1.SyncTarget) Page {
	p := &sitePage{clock: s.Clock, t: t}
	p.identity()
	p.link()
	p.objects()
	p.cluster()
	p.capacity()
	p.below()
	p.rights()
	p.moves()
	p.conditions()
	problems := s.Clock.of(t)
	slices.SortStableFunc(problems, worse)
	for _, problem := range problems {
		p.Notes = append(p.Notes, note(problem.key(), problem.Cause+"\n    do: "+problem.Do))
	}
	return p.Page
}

type sitePage struct {
	Page
	clock Clock
	t     *v1alpha1.SyncTarget
}

// line adds a fact; an empty value is left out.
func (p *sitePage) line(label, format string, args ...any) {
	if text := fmt.Sprintf(format, args...); text != "" {
		p.Rows = append(p.Rows, Row{Key: label, Cells: []string{label, text}})
	}
}

// more adds a line below the fact before.
func (p *sitePage) more(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	p.Rows = append(p.Rows, Row{Key: text, Cells: []string{"", text}})
}

func (p *sitePage) identity() {
	t, st := p.t, &p.t.Status
	p.line("Site", "%s (%s), joined %s", t.Name, kind(t), p.clock.ago(t.CreationTimestamp.Time))
	if t.DeletionTimestamp != nil {
		p.line("Removal", "asked for %s, detachPolicy %s", p.clock.ago(t.DeletionTimestamp.Time),
			orElse(string(t.Spec.DetachPolicy), string(v1alpha1.DetachKeep)))
	}
	if len(t.Labels) > 0 {
		p.line("Labels", "%s", labels.FormatLabels(t.Labels))
	}
	if t.Spec.Unschedulable {
		p.line("Scheduling", "spec.unschedulable: nothing new is placed here")
	}
	if why := heldBy(t); why != "" {
		p.line("Releases", "%s", why)
	}
	for _, taint := range t.Spec.Taints {
		p.line("Taint", "%s", taint.ToString())
	}
	if t.Spec.EvictAfter != nil {
		p.line("Evict after", "%s without a session", t.Spec.EvictAfter.Duration)
	}
	p.line("State", "%s, last seen %s", state(p.clock.of(t)), p.clock.lastSeen(t))
	var versions []string
	if st.KubernetesVersion != "" {
		versions = append(versions, "Kubernetes "+st.KubernetesVersion)
	}
	if st.AgentVersion != "" {
		versions = append(versions, "agent "+st.AgentVersion)
	}
	p.line("Versions", "%s", strings.Join(versions, ", "))
	if id := st.Identity; id != nil {
		p.line("Certificate", "until %s (%s), of authority %s",
			id.CertificateUntil.UTC().Format(time.RFC3339),
			p.remaining(id.CertificateUntil.Time), id.Authority)
	}
}

// remaining is how long it is to a time.
func (p *sitePage) remaining(t time.Time) string {
	switch left := t.Sub(p.clock.Now); {
	case left <= 0:
		return "has ended; it may still be renewed"
	case p.clock.Stamps:
		return "valid"
	default:
		return duration.HumanDuration(left) + " left"
	}
}

func (p *sitePage) link() {
	t := p.t
	transport := t.Status.Transport
	if !connected(t) {
		transport = "no session"
	}
	text := class(t) + ", " + orElse(transport, "no session")
	if l := t.Spec.Link; l != nil && l.BytesPerDay != nil {
		text += ", budget " + output.Bytes(l.BytesPerDay.Value()) + " a day"
		if l.QuietHours != "" {
			text += ", quiet hours " + l.QuietHours
		}
	}
	p.line("Link", "%s", text)
	today := bytesToday(t, p.clock.Now)
	text = fmt.Sprintf("down %s, up %s", output.Bytes(today.Down), output.Bytes(today.Up))
	if l := t.Spec.Link; l != nil && l.BytesPerDay != nil && l.BytesPerDay.Value() > 0 {
		text += fmt.Sprintf(", %d %% of the budget", today.Budgeted*100/l.BytesPerDay.Value())
	}
	p.line("Today", "%s; waiting to cross: %s", text, output.Bytes(t.Status.PendingBytes))
	if b := today.ByPurpose; b != nil {
		p.more("desired %s, status %s, Pods and others %s, events %s, errors %s, streams %s, "+
			"positions %s, control %s, transport %s", output.Bytes(b.Desired), output.Bytes(b.Status),
			output.Bytes(b.Associated), output.Bytes(b.Events),
			output.Bytes(b.Errors),
			output.Bytes(b.Streams), output.Bytes(b.Positions), output.Bytes(b.Control), output.Bytes(b.Transport))
	}
}

func (p *sitePage) objects() {
	st := &p.t.Status
	waiting := max(0, st.Objects-st.Applied-st.Refused)
	p.line("Objects", "%d desired: %d applied, %d refused, %d not reported yet; revision %d",
		st.Objects, st.Applied,
		st.Refused, waiting, st.AppliedRevision)
	refused := Problem{Objects: st.Refusals, more: int(st.Refused) - len(st.Refusals)}
	for _, line := range refused.objects() {
		p.more("refused: %s", strings.TrimSpace(line))
	}
	if h := st.Held; h != nil {
		p.line("Held", "%s: accepting deletes %d, changes %d and adds %d of %d objects",
			h.Reason, h.Deletions, h.Changes,
			h.Additions, h.Objects)
		for _, name := range h.First {
			p.more("deletes %s", name)
		}
		if more := int(h.Deletions) - len(h.First); more > 0 && len(h.First) > 0 {
			p.more("and %d more", more)
		}
	}
}

// capacity is what the cluster has, and how much of it is requested.
func (p *sitePage) capacity() {
	st := &p.t.Status
	p.line("Capacity", "%s", resources(st.Capacity))
	p.line("Allocatable", "%s", resources(st.Allocatable))
	p.line("Allocated", "%s", resources(st.Allocated))
	p.line("  of it placed", "%s", resources(st.AllocatedPlaced))
	if b := p.t.Spec.Bounds; b != nil {
		p.line("Bounds", "%s", bounds(b))
		if st.Requested != nil {
			p.line("Requested", "%s", bounds(st.Requested))
		}
	}
}

func bounds(b *v1alpha1.Bounds) string {
	var out []string
	if b.CPU != nil {
		out = append(out, "cpu "+b.CPU.String())
	}
	if b.Memory != nil {
		out = append(out, "memory "+b.Memory.String())
	}
	if b.Pods != nil {
		out = append(out, fmt.Sprintf("pods %d", *b.Pods))
	}
	if b.Objects != nil {
		out = append(out, fmt.Sprintf("objects %d", *b.Objects))
	}
	return strings.Join(out, ", ")
}

func (p *sitePage) cluster() {
	c := p.t.Status.Cluster
	if c == nil {
		return
	}
	text := fmt.Sprintf("%s, %d ready", Counted(int(c.Nodes), "node"), c.Ready)
	if c.OperatingSystem != "" || c.Architecture != "" {
		text += ", " + strings.Trim(c.OperatingSystem+"/"+c.Architecture, "/")
	}
	p.line("Cluster", "%s", text)
	var classes []string
	for _, class := range c.Classes {
		name := class.Kind + " " + class.Name
		if class.Default {
			name += " (default)"
		}
		classes = append(classes, name)
	}
	p.line("Classes", "%s", first(classes, namedInGroup))
}

func resources(list corev1.ResourceList) string {
	var out []string
	for name, q := range list {
		out = append(out, string(name)+" "+q.String())
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func (p *sitePage) below() {
	b := p.t.Status.Below
	if b == nil {
		return
	}
	p.line("Below", "%s sites connected, %d in trouble", below(p.t), b.Troubled)
	for _, away := range b.Away {
		p.more("%s is not connected, last seen %s", away.Path, p.clock.ago(away.Since.Time))
	}
	for _, t := range b.First {
		p.more("%s: %s (%s)", t.Path, orElse(states[t.Condition], t.Condition), t.Reason)
	}
}

// rights are what spaces may do there beyond the default.
func (p *sitePage) rights() {
	if p.t.Status.Policy == nil {
		return
	}
	data, err := json.Marshal(p.t.Status.Policy)
	var set map[string]any
	if err != nil || json.Unmarshal(data, &set) != nil {
		return
	}
	var out []string
	for name, value := range set {
		text := fmt.Sprint(value)
		if list, ok := value.([]any); ok {
			text = strings.Join(strings.Fields(strings.Trim(fmt.Sprint(list), "[]")), ",")
		}
		out = append(out, name+" "+text)
	}
	slices.Sort(out)
	p.line("Allowed", "%s", strings.Join(out, "; "))
}

func (p *sitePage) moves() {
	for _, m := range underWay(&Snapshot{Sites: []v1alpha1.SyncTarget{*p.t}}) {
		p.line("Move", "%s", p.clock.move(m))
	}
}

func (p *sitePage) conditions() {
	for i := range p.t.Status.Conditions {
		c := &p.t.Status.Conditions[i]
		text := string(c.Status)
		if since := sinceOf(c); since != nil {
			text += " " + p.clock.lasting(since.Time)
		}
		text += " (" + c.Reason + ")"
		if c.Status != metav1.ConditionTrue && c.Message != "" {
			text += ": " + OneLine(c.Message)
		}
		p.line(c.Type, "%s", text)
	}
}
