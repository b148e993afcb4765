package tunnel

import (
	"regexp"
	"slices"
)

// Below is what a relay says of the sites below it, through any number of relays.
type Below struct {
	// Troubled is how many of them say that they are not as they should be.
	Troubled int `json:"troubled"`
	// First are the first of those, at most MaxTroubles.
	First []Trouble `json:"first,omitempty"`
}

// Trouble is what one site below a relay says of itself.
type Trouble struct {
	// Path leads from the one that speaks to the site: the names of the relays on the way and the site's own, joined by "/".
	Path string `json:"path"`
	// Type is that of the worst of its conditions that are False, Reason is why.
	Type   string `json:"type"`
	Reason string `json:"reason"`
}

// MaxTroubles is how many sites a relay names.
const MaxTroubles = 10

// maxTroublePath bounds the way to a site: sixteen relays with the longest names.
const maxTroublePath = 16 * 64

var pathForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9/]*[a-z0-9])?$`)

// bounded returns what a parent takes of it.
func (b *Below) bounded() *Below {
	if b == nil || b.Troubled < 0 {
		return nil
	}
	out := &Below{Troubled: b.Troubled}
	for _, t := range b.First[:min(len(b.First), MaxTroubles, b.Troubled)] {
		if len(t.Path) <= maxTroublePath && pathForm.MatchString(t.Path) && wellFormed(t.Type) && wellFormed(t.Reason) {
			out.First = append(out.First, t)
		}
	}
	return out
}

// wellFormed tells whether a word is one that Kubernetes stores as a reason; it says nothing beyond that word to people.
func wellFormed(word string) bool {
	return len(word) <= maxConditionReason && reasonForm.MatchString(word)
}

// Equal tells whether both say the same.
func (b *Below) Equal(o *Below) bool {
	if b == nil || o == nil {
		return b == o
	}
	return b.Troubled == o.Troubled && slices.Equal(b.First, o.First)
}

// Overlook says what is below this relay.
func (c *Conditions) Overlook(b *Below) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.below.Equal(b) {
		c.below = b
		c.change(c.list)
	}
}
