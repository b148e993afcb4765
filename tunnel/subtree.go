package tunnel

import (
	"regexp"
	"slices"
)

// SubtreeStatus is what a relay reports about the sites below it, through any number of relays.
type SubtreeStatus struct {
	// Troubled is how many of them have a condition that is False.
	Troubled int `json:"troubled"`
	// First are the first of those, at most MaxTroubles.
	First []Trouble `json:"first,omitempty"`
	// Reach is which of them are connected; nil from a relay that does not report it.
	Reach *SubtreeReach `json:"reach,omitempty"`
	// Opened is what any of them opens to controllers and webhooks of spaces.
	Opened Opened `json:"opened,omitzero"`
}

// Reaches reports whether any site or relay below is connected. Of a relay that does not report it, nobody knows.
func (b *SubtreeStatus) Reaches() bool { return b != nil && b.Reach != nil && b.Reach.Connected > 0 }

// SubtreeReach is which sites and relays below a relay are connected. A site is connected when it
// and every relay on the way to it have a session.
type SubtreeReach struct {
	// Targets is how many sites and relays there are, Connected how many of them are connected.
	Targets   int `json:"targets"`
	Connected int `json:"connected"`
	// Away are the first of those that have no session, longest ago first, at most MaxTroubles.
	// What is below one of them is not named.
	Away []SiteAway `json:"away,omitempty"`
}

// SiteAway is a site or relay that has no session.
type SiteAway struct {
	// Path leads to it, as that of a Trouble does.
	Path string `json:"path"`
	// Since is when it was last heard of, Unix time in seconds.
	Since int64 `json:"since"`
}

// Trouble is a site below a relay with a condition that is False.
type Trouble struct {
	// Path leads from the one that speaks to the site: the names of the relays on the way and the
	// site's own, joined by "/".
	Path string `json:"path"`
	// Type is the worst of its conditions that are False, Reason is why.
	Type   string `json:"type"`
	Reason string `json:"reason"`
}

// MaxTroubles is how many sites a relay names: of those in trouble, and of those that are away.
const MaxTroubles = 10

// maxTroublePath bounds a path: sixteen relays with the longest names.
const maxTroublePath = 16 * 64

var pathForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9/]*[a-z0-9])?$`)

// bounded returns what a parent accepts of b.
func (b *SubtreeStatus) bounded() *SubtreeStatus {
	if b == nil || b.Troubled < 0 || b.Troubled > maxBelow {
		return nil
	}
	out := &SubtreeStatus{Troubled: b.Troubled, Reach: b.Reach.bounded(), Opened: b.Opened.bounded()}
	for _, t := range b.First[:min(len(b.First), MaxTroubles, b.Troubled)] {
		if isPath(t.Path) && wellFormed(t.Type) && wellFormed(t.Reason) {
			out.First = append(out.First, t)
		}
	}
	return out
}

// maxBelow bounds how many sites a relay may say it has: more relays than a center has can say so
// and their sum still fits.
const maxBelow = 1 << 20

// latest is the last second that a Kubernetes time can represent.
const latest = 253402300799

// bounded returns what a parent accepts of r.
func (r *SubtreeReach) bounded() *SubtreeReach {
	if r == nil || r.Targets > maxBelow || r.Connected < 0 || r.Connected > r.Targets {
		return nil
	}
	out := &SubtreeReach{Targets: r.Targets, Connected: r.Connected}
	for _, a := range r.Away[:min(len(r.Away), MaxTroubles, r.Targets-r.Connected)] {
		if isPath(a.Path) && a.Since >= 0 && a.Since <= latest {
			out.Away = append(out.Away, a)
		}
	}
	return out
}

// Equal reports whether r and o are the same.
func (r *SubtreeReach) Equal(o *SubtreeReach) bool {
	if r == nil || o == nil {
		return r == o
	}
	return r.Targets == o.Targets && r.Connected == o.Connected && slices.Equal(r.Away, o.Away)
}

func isPath(path string) bool { return len(path) <= maxTroublePath && pathForm.MatchString(path) }

// wellFormed reports whether Kubernetes accepts the word as a reason. Nothing else in it reaches
// people.
func wellFormed(word string) bool {
	return len(word) <= maxConditionReason && reasonForm.MatchString(word)
}

// Equal reports whether b and o are the same.
func (b *SubtreeStatus) Equal(o *SubtreeStatus) bool {
	if b == nil || o == nil {
		return b == o
	}
	return b.Troubled == o.Troubled && slices.Equal(b.First, o.First) && b.Reach.Equal(o.Reach) &&
		b.Opened.Equal(o.Opened)
}

// ReportSubtree records the status of the sites below this relay.
func (c *Conditions) ReportSubtree(b *SubtreeStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.below.Equal(b) {
		c.below = b
		c.changeLocked(c.list)
	}
}
