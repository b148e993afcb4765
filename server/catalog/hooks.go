package catalog

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// Attempt names an attempt of a hook.
type Attempt struct {
	Of     binding.Ref
	UID    string // of the target
	Target string // its name
	Name   string // of the hook
	Began  uint32
	Since  uint32
	Failed uint8
}

// Key names the leaving that an attempt is about: it is the same after a failure.
func (a Attempt) Key() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %s %s %d", a.Of.Unit, a.Of.Cohort, a.UID, a.Name, a.Began))
	return hex.EncodeToString(sum[:16])
}

// Digest tells the attempts of one leaving apart, in the names of Jobs.
func (a Attempt) Digest() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", a.Key(), a.Since))
	return hex.EncodeToString(sum[:5])
}

// Hooks are those of the Placement of a group. The group may be nil.
func (g *Group) Hooks() []v1alpha1.MoveHook {
	if r := g.Rule(); r != nil {
		return r.Hooks
	}
	return nil
}

// WakeFailed has the hooks looked at that have failed and run what an object says. The lock must be held.
func (c *Catalog) WakeFailed(source store.Key) {
	for _, f := range c.HookFailures.by(source) {
		if r, ok := c.OwnerOf(f.Space, f.Of); ok {
			c.Groups.Add(r)
		}
	}
}

// Mark is what the annotation of its Job says of an attempt.
func (a Attempt) Mark() string {
	return fmt.Sprintf("%s %d %s %d %d %s", cmp.Or(string(a.Of.Unit), "-"), a.Of.Cohort, a.UID, a.Began, a.Since, a.Target)
}

// HookMark is such an annotation.
type HookMark struct {
	Of           binding.Ref
	TargetUID    string
	target       string // its name at that time
	Began, Since uint32
	Failed       string // how its Job has failed, empty while it has not
}

func parseMark(text string) *HookMark {
	var unit, uid string
	m := &HookMark{}
	if n, _ := fmt.Sscanf(text, "%s %d %s %d %d %s", &unit, &m.Of.Cohort, &uid, &m.Began, &m.Since, &m.target); n != 6 {
		return nil
	}
	if m.TargetUID = uid; unit != "-" {
		m.Of.Unit = binding.UnitID(unit)
	}
	return m
}

// OwnerOf is the queue's word for the record of a hook. The lock must be held.
func (c *Catalog) OwnerOf(space string, of binding.Ref) (Ref, bool) {
	if of.Cohort != 0 {
		return CohortRef(space, of.Cohort), true
	}
	u := c.Records.Units[of.Unit]
	if u == nil {
		return Ref{}, false
	}
	g := c.Holder(u)
	if g == nil {
		return Ref{}, false
	}
	return g.Ref(), true
}

// ReadHook reads the mark of a Job that is a hook, nil for any other object.
func ReadHook(k store.Key, obj map[string]any) *HookMark {
	if k.Group != "batch" || k.Resource != "jobs" {
		return nil
	}
	m := parseMark(fields.Clone(obj, "metadata", "annotations", v1alpha1.AnnotationHook))
	if m == nil {
		return nil
	}
	for c := range fields.Maps(obj, "status", "conditions") {
		if fields.String(c, "type") == "Failed" && fields.String(c, "status") == "True" {
			m.Failed = fmt.Sprintf("%s: %s", fields.Clone(c, "reason"), fields.Clone(c, "message"))
		}
	}
	return m
}
