package fleet

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// Node is a center, a relay or a site, with what is below it as far as the center knows that. A
// relay names at most 20 of the sites below it, those that are away or in trouble, and counts the
// others.
type Node struct {
	Name string `json:"name"`
	// Kind is center, relay, cluster, or site below a relay, of which the center does not know what
	// it is.
	Kind string `json:"kind"`
	// State is ok, or the worst of what is wrong: not connected, holds, refuses, ...
	State string `json:"state"`
	// Reason is that of the condition that is False.
	Reason string `json:"reason,omitempty"`
	// Since is when a site that is away was last heard of.
	Since *metav1.Time `json:"since,omitempty"`
	// Sites and Connected count what is below, through any number of relays; absent of a cluster.
	Sites     *int32 `json:"sites,omitempty"`
	Connected *int32 `json:"connected,omitempty"`
	// Children are sorted by name.
	Children []*Node `json:"children,omitempty"`
	// Others is how many sites below are not named among Children.
	Others int32 `json:"others,omitempty"`
	// Old is true where the relay is not connected: what it said is from before.
	Old bool `json:"old,omitempty"`
}

// Tree is the center with all that is below it.
func Tree(s *Snapshot) *Node {
	var sites, reached int32
	root := &Node{Name: s.Center, Kind: "center", State: "ok", Sites: &sites, Connected: &reached}
	if len(s.Wrong) > 0 {
		root.State = s.Wrong[0].Kind
	}
	for i := range s.Sites {
		t := &s.Sites[i]
		n := s.Clock.node(t)
		sites++
		if connected(t) {
			reached++
		}
		if n.Sites != nil {
			sites += *n.Sites
		}
		if n.Connected != nil && connected(t) {
			reached += *n.Connected
		}
		root.Children = append(root.Children, n)
	}
	return root
}

func (c Clock) node(t *v1alpha1.SyncTarget) *Node {
	problems := c.of(t)
	n := &Node{Name: t.Name, Kind: kind(t), State: state(problems)}
	if len(problems) > 0 {
		n.Reason = slices.MinFunc(problems, worse).Reason
	}
	if _, silent := silence(t); silent || !connected(t) {
		n.Since, n.Old = t.Status.LastSeen, t.Status.Relay
	}
	below := t.Status.Below
	if below == nil {
		return n
	}
	n.Sites, n.Connected = below.Targets, below.Connected
	n.place(below)
	return n
}

// maxDepth is how many relays a path below a relay leads through at most in a tree; what is deeper
// stands at its end as one name.
const maxDepth = 32

// place puts what a relay names of the sites below it where it belongs.
func (n *Node) place(below *v1alpha1.SyncTargetBelow) {
	for _, away := range below.Away {
		at := n.at(away.Path, maxDepth)
		at.State, at.Since = "not connected", away.Since.DeepCopy()
	}
	for _, trouble := range below.First {
		at := n.at(trouble.Path, maxDepth)
		if at.State == "ok" {
			at.State = orElse(states[trouble.Condition], trouble.Condition)
			at.Reason = trouble.Reason
		}
	}
	if n.Sites != nil {
		n.Others = max(0, *n.Sites-n.named())
	}
}

// at is the node at a path below n; those on the way that are not there yet are relays.
func (n *Node) at(path string, depth int) *Node {
	name, rest, deeper := path, "", false
	if depth > 0 {
		name, rest, deeper = strings.Cut(path, "/")
	}
	i, found := slices.BinarySearchFunc(n.Children, name, func(c *Node, name string) int {
		return strings.Compare(c.Name, name)
	})
	if !found {
		n.Children = slices.Insert(n.Children, i, &Node{Name: name, Kind: "site", State: "ok"})
	}
	child := n.Children[i]
	if !deeper {
		return child
	}
	child.Kind = "relay"
	return child.at(rest, depth-1)
}

// named counts the nodes below n.
func (n *Node) named() (count int32) {
	for _, c := range n.Children {
		count += 1 + c.named()
	}
	return count
}

// Page is the tree, a node a line. Of many children that are ok only some are named.
func (n *Node) Page(c Clock) (p Page) {
	p.Head = []string{"NAME", "KIND", "STATE", "BELOW", "SEEN"}
	n.rows(c, "", "", "", &p)
	return p
}

func (n *Node) rows(c Clock, path, before, under string, p *Page) {
	key := path + "/" + n.Name
	p.Rows = append(p.Rows, Row{Key: key, Cells: append([]string{before + n.Name}, n.cells(c)...)})
	shown, hidden := n.shown()
	hidden += int(n.Others)
	for i, child := range shown {
		branch, deeper := "├─ ", "│  "
		if i == len(shown)-1 && hidden == 0 {
			branch, deeper = "└─ ", "   "
		}
		child.rows(c, key, under+branch, under+deeper, p)
	}
	if hidden > 0 {
		text := fmt.Sprintf("%s└─ %s more", under, Counted(hidden, "site"))
		if n.Kind == "relay" {
			text += "; all: skerry status --tree at this relay"
		}
		p.Rows = append(p.Rows, note(key+"/", text))
	}
}

// shown are the children that are named: all of a few, of many those that are not ok or relays
// first.
func (n *Node) shown() (shown []*Node, hidden int) {
	if len(n.Children) <= Many {
		return n.Children, 0
	}
	for _, first := range []bool{true, false} {
		for _, child := range n.Children {
			if first == (child.State != "ok") && len(shown) < Many {
				shown = append(shown, child)
			}
		}
	}
	slices.SortFunc(shown, func(a, b *Node) int { return strings.Compare(a.Name, b.Name) })
	return shown, len(n.Children) - len(shown)
}

func (n *Node) cells(c Clock) []string {
	st := n.State
	if n.Reason != "" {
		st += " (" + n.Reason + ")"
	}
	below, seen := "-", "now"
	if n.Sites != nil && n.Connected != nil {
		below = fmt.Sprintf("%d/%d", *n.Connected, *n.Sites)
		if n.Old {
			below = fmt.Sprintf("?/%d", *n.Sites)
		}
	}
	switch {
	case n.Since != nil:
		seen = c.ago(n.Since.Time)
	case n.Old, n.State == states[notJoined], n.State == states[v1alpha1.ConditionConnected]:
		seen = "never"
	case n.Kind == "site" || n.Kind == "center":
		seen = "-"
	}
	return []string{n.Kind, st, below, seen}
}
