package inventory

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// Center is what profiles say of the center itself.
type Center struct {
	// URL is how users reach it.
	URL string
	// Bundle returns its authorities as PEM; nil means those that every machine trusts.
	Bundle func() []byte
}

func (c Center) authorities() string {
	if c.Bundle == nil {
		return ""
	}
	return base64.StdEncoding.EncodeToString(c.Bundle())
}

// Table has the profiles of all targets, the decisions of all spaces, and which space may use which
// targets. It has to be given the writes of all spaces.
type Table struct {
	mu        sync.Mutex
	revision  int64 // every write up to this one is in; 0 before the first Reset
	targets   map[string]*profile
	spaces    map[string]limit
	decisions map[string]map[string]*decision // by space and Placement
	removed   int64                           // a profile was last taken away, from any space, at this revision
	begun     int64                           // the revision of the last Reset
	watches   map[*watch]struct{}
	moved     chan struct{} // closed when revision grows
}

// limit is what a space shows.
type limit struct {
	selector labels.Selector // nil for all targets
	text     string
	// profiles and slices are when some were last taken away in this space.
	profiles, slices int64
}

// NewTable returns an empty table.
func NewTable() *Table {
	return &Table{
		targets:   map[string]*profile{},
		spaces:    map[string]limit{},
		moved:     make(chan struct{}),
		decisions: map[string]map[string]*decision{},
		watches:   map[*watch]struct{}{},
	}
}

func isTarget(k store.Key) bool { return inRoot(k, "synctargets") }

func isSpace(k store.Key) bool { return inRoot(k, "spaces") }

func inRoot(k store.Key, resource string) bool {
	return k.Space == v1alpha1.RootSpace && k.Group == v1alpha1.GroupVersion.Group &&
		k.Resource == resource
}

// isPlacement reports whether a key is of a Placement that decides: those of root do not.
func isPlacement(k store.Key) bool {
	return k.Space != v1alpha1.RootSpace && k.Group == v1alpha1.GroupVersion.Group &&
		k.Resource == "placements"
}

// Reset takes all objects as of a revision. Every watch ends: what was taken away is not known.
func (t *Table) Reset(revision int64, all store.Listing) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.targets, t.spaces, t.decisions = map[string]*profile{}, map[string]limit{}, map[string]map[string]*decision{}
	for w := range all.Objects(func(k store.Key) bool { return isTarget(k) || isSpace(k) || isPlacement(k) }) {
		switch {
		case isTarget(w.Key):
			t.targets[w.Key.Name] = readProfile(nil, w)
		case isSpace(w.Key):
			t.limitLocked(w)
		default:
			t.decideLocked(w)
		}
	}
	t.removed, t.begun = revision, revision
	t.advanceLocked(revision)
	for w := range t.watches {
		w.expire()
	}
}

// Apply takes one write.
func (t *Table) Apply(w store.Write) {
	if !isTarget(w.Key) && !isSpace(w.Key) && !isPlacement(w.Key) {
		return // Progress follows
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.advanceLocked(w.Revision)
	switch {
	case isSpace(w.Key):
		if t.limitLocked(w) {
			t.notifyLocked(func(o *watch) bool { return o.space == w.Key.Name }, w.Revision, "")
		}
	case isPlacement(w.Key):
		if t.decideLocked(w) {
			t.notifyLocked(
				func(o *watch) bool { return o.space == w.Key.Space && o.resource == Decisions },
				w.Revision,
				w.Key.Name,
			)
		}
	default:
		before := t.targets[w.Key.Name]
		after := readProfile(before, w)
		if after == before {
			return
		}
		if t.targets[w.Key.Name] = after; after == nil {
			delete(t.targets, w.Key.Name)
		}
		if before != nil &&
			(after == nil || before.uid != after.uid || !maps.Equal(before.labels, after.labels)) {
			t.removed = w.Revision
		}
		t.notifyLocked(
			func(o *watch) bool { return o.resource == Profiles },
			w.Revision,
			w.Key.Name,
		)
	}
}

// Progress says that every write up to a revision was given.
func (t *Table) Progress(revision int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.advanceLocked(revision)
}

func (t *Table) advanceLocked(revision int64) {
	if revision <= t.revision {
		return
	}
	t.revision = revision
	close(t.moved)
	t.moved = make(chan struct{})
}

// notifyLocked has some watches look at what has changed: one profile or Placement, or all of them.
func (t *Table) notifyLocked(which func(*watch) bool, revision int64, name string) {
	for w := range t.watches {
		if which(w) {
			w.changed(t.objectsLocked(w.space, w.resource, name), name, revision)
		}
	}
}

// limitLocked takes a write of a Space, and reports whether it shows other targets than before.
func (t *Table) limitLocked(w store.Write) bool {
	before, had := t.spaces[w.Key.Name]
	if w.Object == nil {
		delete(t.spaces, w.Key.Name)
		return had
	}
	now := before
	now.selector, now.text = readSelector(fields.Map(w.Object, "spec", "locationSelector"))
	if had && now.text == before.text {
		return false
	}
	now.profiles = w.Revision
	t.spaces[w.Key.Name] = now
	return true
}

// readSelector reads a locationSelector. One that cannot be read selects nothing.
func readSelector(raw map[string]any) (labels.Selector, string) {
	if raw == nil {
		return nil, ""
	}
	var s metav1.LabelSelector
	b, err := json.Marshal(raw)
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		return labels.Nothing(), string(b)
	}
	selector, err := metav1.LabelSelectorAsSelector(&s)
	if err != nil {
		return labels.Nothing(), string(b)
	}
	return selector, string(b)
}

// decideLocked takes a write of a Placement, and reports whether its slices are others.
func (t *Table) decideLocked(w store.Write) bool {
	all := t.decisions[w.Key.Space]
	before := all[w.Key.Name]
	after := readDecision(before, w)
	if after == before {
		return false
	}
	if before != nil &&
		(after == nil || before.uid != after.uid || after.slices() < before.slices()) {
		if l, known := t.spaces[w.Key.Space]; known {
			l.slices = w.Revision
			t.spaces[w.Key.Space] = l
		}
	}
	switch {
	case after != nil && all == nil:
		t.decisions[w.Key.Space] = map[string]*decision{w.Key.Name: after}
	case after != nil:
		all[w.Key.Name] = after
	default:
		if delete(all, w.Key.Name); len(all) == 0 {
			delete(t.decisions, w.Key.Space)
		}
	}
	return true
}

// source is what makes objects: a profile or a decision.
type source struct {
	revision int64
	profile  *profile
	decision *decision
}

// objectsLocked returns what a space shows of a resource, by name: all, or what one profile or
// Placement makes.
func (t *Table) objectsLocked(space, resource, name string) map[string]source {
	out := map[string]source{}
	if resource == Decisions {
		for _, d := range t.decisions[space] {
			if name == "" || d.name == name {
				out[d.name] = source{d.revision, nil, d}
			}
		}
		return out
	}
	l, known := t.spaces[space]
	if !known && space != v1alpha1.RootSpace {
		return out
	}
	add := func(p *profile) {
		if p != nil && (l.selector == nil || l.selector.Matches(labels.Set(p.labels))) {
			out[p.name] = source{p.revision, p, nil}
		}
	}
	if name != "" {
		add(t.targets[name])
		return out
	}
	for _, p := range t.targets {
		add(p)
	}
	return out
}

// removedLocked is the revision at which a space last lost an object of a resource.
func (t *Table) removedLocked(space, resource string) int64 {
	if resource == Decisions {
		return max(t.spaces[space].slices, t.begun)
	}
	return max(t.removed, t.spaces[space].profiles)
}

// objects makes what a source makes, in the order of names.
func (c Center) objects(space string, of map[string]source) (out []map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if s := of[name]; s.profile != nil {
			out = append(out, s.profile.in(space, c))
		} else {
			out = append(out, s.decision.in(space)...)
		}
	}
	return out
}
