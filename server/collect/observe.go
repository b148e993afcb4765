package collect

import (
	"maps"
	"slices"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// target takes a write of a SyncTarget: expressions see its labels.
func (c *Collect) target(w store.Write) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := w.Key.Name
	before, had := c.targets[name]
	if w.Object == nil {
		delete(c.targets, name)
	} else {
		labels := map[string]any{}
		maps.Copy(labels, fields.Map(w.Object, "metadata", "labels"))
		now := map[string]any{"name": name, "labels": labels}
		if had && maps.Equal(before["labels"].(map[string]any), labels) {
			return
		}
		c.targets[name] = now
	}
	if !had {
		return // its reports come
	}
	for _, col := range c.collectors {
		col.mu.RLock()
		for s := range col.contributions {
			if s.target == name {
				c.markLocked(col, s)
			}
		}
		col.mu.RUnlock()
	}
}

// placement takes a write of a Placement: which collectors it names.
func (c *Collect) placement(w store.Write) {
	var o v1alpha1.Placement
	if w.Object != nil && !c.decode(w, &o) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before, had := c.named[w.Key]
	now := naming{string(o.UID), slices.Sorted(slices.Values(o.Spec.Status.Collectors))}
	if w.Object == nil || len(now.collectors) == 0 {
		delete(c.named, w.Key)
	} else {
		c.named[w.Key] = now
	}
	if _, has := c.named[w.Key]; had != has || before.uid != now.uid || !slices.Equal(before.collectors, now.collectors) {
		c.wakeLocked(w.Key, gather)
	}
}

// collector takes a write of a StatusCollector. Another spec is another program, for which every
// report is looked at anew.
func (c *Collect) collector(w store.Write) {
	var o v1alpha1.StatusCollector
	if w.Object != nil && !c.decode(w, &o) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k := w.Key
	col := c.collectors[k]
	if w.Object == nil {
		c.endLocked(col)
		delete(c.collectors, k)
		c.nextLocked(k.Space)
		c.wakeNamingLocked(k)
		delete(c.turns, k)
		return
	}
	if col == nil || col.uid != string(o.UID) || col.generation != o.Generation {
		c.endLocked(col)
		col = &collector{key: k, uid: string(o.UID), generation: o.Generation, contributions: map[source]*folded{}}
		c.collectors[k] = col
		c.beginLocked(col, o.Spec)
	} else if w.Revision == col.revision {
		return
	}
	col.revision, col.status = w.Revision, o.Status
	c.wakeLocked(k, gather)
}

// beginLocked has a collector take what its space reports, unless the space has as many as it may.
func (c *Collect) beginLocked(col *collector, spec v1alpha1.StatusCollectorSpec) {
	space := col.key.Space
	if c.bySpace[space] == nil {
		c.bySpace[space] = map[store.Key]*collector{}
	}
	if len(c.bySpace[space]) >= maxCollectors {
		col.waits, col.problem = &spec, tooMany
		return
	}
	c.bySpace[space][col.key] = col
	var err error
	if col.program, err = compile(spec); err != nil {
		col.problem = err.Error()
	}
}

// endLocked has a collector take nothing any more, nil for none.
func (c *Collect) endLocked(col *collector) {
	if col == nil || c.bySpace[col.key.Space][col.key] != col {
		return
	}
	delete(c.bySpace[col.key.Space], col.key)
	col.mu.RLock()
	defer col.mu.RUnlock()
	c.kept[col.key.Space] -= len(col.contributions)
}

// nextLocked has a collector of a space begin that has waited until there was room, the first by name.
func (c *Collect) nextLocked(space string) {
	switch len(c.bySpace[space]) {
	case 0:
		delete(c.bySpace, space)
		delete(c.kept, space)
		return
	case maxCollectors - 1: // none waits while there are fewer
	default:
		return
	}
	var next *collector
	for k, is := range c.collectors {
		if k.Space == space && is.waits != nil && (next == nil || k.Name < next.key.Name) {
			next = is
		}
	}
	if next == nil {
		return
	}
	is := &collector{key: next.key, uid: next.uid, generation: next.generation, revision: next.revision,
		status: next.status, contributions: map[source]*folded{}}
	c.collectors[is.key] = is
	c.beginLocked(is, *next.waits)
	c.wakeLocked(is.key, gather)
}

// wakeNamingLocked has the Placements that name a collector folded.
func (c *Collect) wakeNamingLocked(k store.Key) {
	for p, n := range c.named {
		if p.Space == k.Space && slices.Contains(n.collectors, k.Name) {
			c.wakeLocked(p, 0)
		}
	}
}

// stored takes a write of a CombinedStatus. What somebody else has changed is put right.
func (c *Collect) stored(w store.Write) {
	var o v1alpha1.CombinedStatus
	if w.Object != nil && !c.decode(w, &o) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.Object == nil {
		delete(c.combined, w.Key)
	} else {
		c.combined[w.Key] = combined{string(o.UID), w.Revision, o}
	}
	k := subjectOf(w.Key)
	_, collects := c.collectors[k]
	_, names := c.named[k]
	if collects || names || w.Object != nil {
		c.wakeLocked(k, gather)
	}
}

// subjectOf is the key of what a CombinedStatus is of, by its name.
func subjectOf(k store.Key) store.Key {
	k.Resource = "statuscollectors"
	if name, ok := placementOf(k.Name); ok {
		k.Resource, k.Name = "placements", name
	}
	return k
}
