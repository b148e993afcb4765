package catalog

import (
	"fmt"
	"time"

	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// Derives reports whether the object's annotation says where the object is, and not what is decided
// about a Namespace or about an object with a wish of its own.
func Derives(o *Object) bool {
	return o.Kind.Order == store.ClassOther && (o.Source == nil || o.Source.Kind != OfObject)
}

// WantedNote is what the annotation of the targets should say. It is a view: nothing reads it.
func (c *Catalog) WantedNote(o *Object) string {
	switch {
	case Derives(o):
		if on := c.Effective(o); o.With != nil || on != nil {
			return on.Derived()
		}
	case o.Kind.Order == store.ClassNamespace:
		if g := &o.Namespace.Space.Namespaces[o.Name].Group; c.placedOnce(g) {
			return g.Record.Record()
		}
	case o.Kind.Order == store.ClassOther && c.placedOnce(o.Source):
		return c.RecordOf(o).Record()
	}
	return o.Note.Record() // what admission has written, until it is decided
}

// placedOnce reports whether anything has been decided about a group.
func (c *Catalog) placedOnce(g *Group) bool {
	u := c.Records.Units[g.ID()]
	return u != nil && u.Revision != 0
}

// noteDelay is how long a derived annotation waits, so that a move that is quick writes it once.
const noteDelay = time.Second

// Note has the annotation of an object written when it is not right. The lock must be held.
func (c *Catalog) Note(o *Object) {
	if o == nil || !o.Present || o.Retired || o.Leaving {
		return
	}
	_, opens := OpenUntil(c, o)
	switch {
	case o.Note.Record() == c.WantedNote(o) && !c.LivesOnChanged(o) && !opens:
	case Derives(o):
		c.Notes.AddAfter(o.Key(), noteDelay)
	default:
		c.Notes.Add(o.Key())
	}
}

// TooLarge is the reason of an object that is not sent, because its body is larger than
// store.MaxBodyBytes. The API refuses such objects when they are written; one may still grow by
// what a Placement's policy, another version of its kind, or a parent adds.
const TooLarge = "TooLarge"

// Unsent tells why an object is not sent, empty for all that are. d.mu must be held.
func (c *Catalog) Unsent(o *Object) string {
	if n := c.Oversize[o]; n > 0 {
		return TooLarge + ": " + SizeMessage(n)
	}
	return ""
}

// SizeMessage says for people that a body of so many bytes is too large.
func SizeMessage(n int) string {
	return fmt.Sprintf("the center does not send it: it would be %d bytes of JSON, and the limit is %d; "+
		"make it smaller, or split it", n, store.MaxBodyBytes)
}

// Conditions is a status.conditions list as last seen. It is shared with the object that it was
// read from: never change it.
type Conditions []any

// ReadConditions reads status.conditions.
func ReadConditions(obj map[string]any) Conditions {
	list := fields.List(obj, "status", "conditions")
	return list
}

// Get returns the condition of a type, nil when there is none.
func (c Conditions) Get(t string) map[string]any {
	for _, e := range c {
		if m, ok := e.(map[string]any); ok && m["type"] == t {
			return m
		}
	}
	return nil
}

// With returns the list with one condition set, and whether that is a change. The time of
// transition moves only with the status. A Placement's conditions also say which generation they
// are about.
func (c Conditions) With(n placement.Condition, generation int64, now time.Time) (Conditions, bool) {
	status := "False"
	if n.Status {
		status = "True"
	}
	old := c.Get(n.Type)
	if old != nil && old["status"] == status && old["reason"] == n.Reason && old["message"] == n.Message &&
		customize.Number(old["observedGeneration"]) == generation {
		return c, false
	}
	m := map[string]any{"type": n.Type, "status": status, "reason": n.Reason, "message": n.Message,
		"lastTransitionTime": now.UTC().Format(time.RFC3339)}
	if generation > 0 {
		m["observedGeneration"] = generation
	}
	if old != nil && old["status"] == status {
		m["lastTransitionTime"] = old["lastTransitionTime"]
	}
	out := make(Conditions, 0, len(c)+1)
	for _, e := range c {
		if o, ok := e.(map[string]any); !ok || o["type"] != n.Type {
			out = append(out, e)
		}
	}
	return append(out, m), true
}
