package tunnel

import (
	"cmp"
	"fmt"
	"slices"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/clip"
)

// Withheld is what a child's deletion guard withholds: deletions that are too many to be intended.
type Withheld struct {
	// Deletions is how many are withheld, Objects how many objects the child had before them.
	Deletions int `json:"deletions"`
	Objects   int `json:"objects"`
	// UpTo is the revision of the newest withheld deletion.
	UpTo int64 `json:"upTo"`
	// First are the first objects as text, at most 10.
	First []string `json:"first,omitempty"`
	// In are the namespaces with most withheld deletions, at most 10.
	In []WithheldIn `json:"in,omitempty"`
}

// WithheldIn is how many deletions are withheld in one namespace of a space. Objects without a
// namespace are counted under the empty one.
type WithheldIn struct {
	Space     string `json:"space"`
	Namespace string `json:"namespace,omitempty"`
	Deletions int    `json:"deletions"`
}

// What a parent takes of Withheld.
const (
	maxWithheldFirst = 10
	maxWithheldIn    = 10
	maxWithheldName  = 512
)

// bounded returns what a parent accepts of w.
func (w *Withheld) bounded() *Withheld {
	if w == nil || w.Deletions <= 0 || w.Objects < 0 {
		return nil
	}
	out := *w
	out.First = slices.Clone(w.First[:min(len(w.First), maxWithheldFirst)])
	for i, name := range out.First {
		out.First[i] = clip.Text(name, maxWithheldName)
	}
	out.In = nil
	for _, in := range w.In[:min(len(w.In), maxWithheldIn)] {
		k := store.Key{Space: in.Space, Resource: "namespaces", Name: cmp.Or(in.Namespace, "default")}
		if k.Validate() == nil && in.Deletions > 0 {
			out.In = append(out.In, in)
		}
	}
	return &out
}

func (w *Withheld) equal(o *Withheld) bool {
	if w == nil || o == nil {
		return w == o
	}
	return w.Deletions == o.Deletions && w.Objects == o.Objects && w.UpTo == o.UpTo && slices.Equal(w.First, o.First) &&
		slices.Equal(w.In, o.In)
}

// Reasons of CenterTrusted=False.
const (
	// CenterRegressed: the parent's data is not, or is no longer, the data that the child's copy
	// came from.
	CenterRegressed = "CenterRegressed"
	// DeletionsHeld: the parent is followed, except for withheld deletions.
	DeletionsHeld = "DeletionsHeld"
)

// Withhold records the withheld deletions; nil means none.
func (c *Conditions) Withhold(w *Withheld) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.withheld.equal(w) {
		return
	}
	c.withheld = w
	c.changeLocked(c.list)
	c.trustLocked()
}

// Obey records that the parent is followed if why is nil, and that it is held otherwise.
func (c *Conditions) Obey(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.regressed, c.met = why, true
	c.trustLocked()
}

// Regressed reports whether the parent is held.
func (c *Conditions) Regressed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.regressed != nil
}

// trustLocked updates CenterTrusted.
func (c *Conditions) trustLocked() {
	trusted := Condition{Type: CenterTrusted, Status: False, Reason: CenterRegressed}
	switch {
	case c.regressed != nil:
		trusted.Message = c.regressed.Error() +
			"; what is here stays as it is. On the center see what would change: skerry target accept NAME --dry-run"
	case c.withheld != nil:
		trusted.Reason = DeletionsHeld
		trusted.Message = fmt.Sprintf(
			"%d of %d objects are to be deleted, more than this site does unasked; they stay until an admin confirms it. "+
				"On the center: skerry target accept NAME",
			c.withheld.Deletions,
			c.withheld.Objects,
		)
	case c.met:
		trusted = Condition{
			Type:    CenterTrusted,
			Status:  True,
			Reason:  "Followed",
			Message: "what the center wants is done",
		}
	default:
		return // no parent was met yet
	}
	c.setLocked(trusted)
}
