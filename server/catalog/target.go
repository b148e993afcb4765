package catalog

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// Location is a Location with the snapshot that mentioned it.
type Location struct {
	placement.Location
	Revision int64
	Status   v1alpha1.LocationStatus // as stored
	Epoch    uint32
}

// ReadTarget reads what placement needs of a SyncTarget, but for its facts and its departure.
func ReadTarget(obj map[string]any) placement.Target {
	meta := fields.Map(obj, "metadata")
	t := placement.Target{Name: fields.Clone(meta, "name"), Labels: labels.Set{}}
	for k := range fields.Map(meta, "labels") {
		t.Labels[k] = fields.Clone(meta, "labels", k)
	}
	cordoned, _ := fields.Map(obj, "spec")["unschedulable"].(bool)
	t.Unschedulable = cordoned || fields.Clone(meta, "deletionTimestamp") != ""
	if relay, _ := fields.Map(obj, "status")["relay"].(bool); relay {
		t.Empty = customize.Number(fields.Map(obj, "status", "below")["targets"]) == 0
	}
	_, t.Held = fields.Map(meta, "annotations")[v1alpha1.AnnotationHoldReleases]
	for c := range fields.Maps(fields.Map(obj, "status"), "conditions") {
		switch fields.Clone(c, "type") {
		case v1alpha1.ConditionConnected:
			t.Connected = fields.Clone(c, "status") == "True"
		case v1alpha1.ConditionTakesReleases:
			t.Held = t.Held || fields.Clone(c, "reason") == v1alpha1.ReasonHeldAtSite
		}
	}
	return t
}

// World is what a space may choose from. The lock must be held.
func (c *Catalog) World(sp *Space) placement.World {
	w := placement.World{Offered: sp.Offered, Locations: c.places(), Now: time.Now(),
		Targets: make([]placement.Target, 0, len(c.Targets))}
	for _, t := range c.Targets {
		if t.Emptied {
			continue
		}
		w.Targets = append(w.Targets, t.Target)
		w.Targets[len(w.Targets)-1].Objects = t.Feed.Len()
	}
	w.Halted = placement.Halted(w.Targets, w.Now)
	return w
}

// places are the Locations. The lock must be held.
func (c *Catalog) places() []placement.Location {
	out := make([]placement.Location, 0, len(c.Locations))
	for _, l := range c.Locations {
		out = append(out, l.Location)
	}
	return out
}

// ValuesChange is the change by which a target gets its own values.
func (t *Target) ValuesChange() store.Change {
	return store.Change{Key: store.ValuesKey, Hash: store.HashBody(0, t.Values)}
}

// Ordered puts what says how objects are rendered before the objects, and adds the values of a
// target that gets its first Customizer.
func (t *Target) Ordered(changes []store.Change) []store.Change {
	rules := false
	for _, c := range changes {
		rules = rules || c.Key.Class() == store.ClassRule
		if c.Key.IsCustomizer() && c.Hash != (store.Hash{}) && !t.Valued {
			t.Valued = true
			changes = append(changes, t.ValuesChange())
		}
	}
	if rules {
		slices.SortStableFunc(changes, func(a, b store.Change) int {
			return int(a.Key.Class()) - int(b.Key.Class())
		})
	}
	return changes
}

// A SyncTarget that is renamed keeps its UID, so every record goes on to say where its objects are. It is
// stored by the new name first, and deleted by the old one after that.

// RenameIn gives what a map has of a target to another name of it.
func RenameIn[V any](m map[string]V, from, to string) {
	if v, ok := m[from]; ok {
		m[to] = v
		delete(m, from)
	}
}

// RenamesOf is how often a SyncTarget was renamed.
func RenamesOf(meta map[string]any) int {
	return v1alpha1.Renames(fields.Clone(meta, "annotations", v1alpha1.AnnotationRenames))
}

// Superseded reports whether a SyncTarget is the old name of one that has been renamed, and is about to
// be deleted. The lock must be held.
func (c *Catalog) Superseded(name string, meta map[string]any) bool {
	uid := fields.Clone(meta, "uid")
	now := c.Targets[c.Records.Targets.Of(c.Records.Targets.ID(uid, name)).Name]
	return now != nil && now.UID == uid && now.Renames > RenamesOf(meta)
}

// Target is one SyncTarget with its feed.
type Target struct {
	placement.Target
	UID   string
	ID    binding.TargetID
	Feed  *store.Feed
	Epoch uint32
	// values is the body of store.ValuesKey, and valued whether the feed has it.
	Values []byte
	Valued bool
	Opened
	Has capacity
	// emptied: the SyncTarget is being deleted, and nothing of what is placed there may stay.
	Emptied bool
	// renames is how often the SyncTarget was renamed.
	Renames int
	// Metered: the bytes of its link are paid for.
	Metered bool
}

// ReadMetered reads from a SyncTarget whether the bytes of its link are paid for.
func ReadMetered(obj map[string]any) bool {
	return fields.String(obj, "spec", "link", "class") == string(v1alpha1.LinkMetered)
}
