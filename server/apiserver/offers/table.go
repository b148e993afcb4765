package offers

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	api "k8s.io/kubernetes/pkg/apis/core"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// Table has what targets offer, and which spaces may use which targets.
type Table struct {
	mu       sync.Mutex
	revision int64 // every write up to this one is in; 0 before the first Reset
	forgot   int64 // changes up to this revision are not remembered
	targets  map[string]*target
	limits   map[string]limit // of spaces that may not use every target
	history  []change         // the newest last
	offered  int64            // classes changed last at this revision
	watches  map[*nodeWatch]struct{}
	classes  map[*classWatch]struct{}
}

// target is one SyncTarget. Its parts are never changed in place.
type target struct {
	name   string
	labels labels.Set
	node   *api.Node
	// classes are what it offers. They changed last at revision classesAt.
	classes []v1alpha1.SyncTargetClass
	relay   bool // its own sites offer them, and may differ
}

// limit is which targets a space may use, and since which revision.
type limit struct {
	selector labels.Selector
	text     string
	at       int64
}

// change is that a target is another one than before. Before is nil for a new one, and after for one
// that is gone.
type change struct {
	revision      int64
	before, after *target
}

// remembered is how many changes of Nodes are kept for watches that begin in the past.
const remembered = 256

// NewTable returns a table that has to be given the writes of all spaces.
func NewTable() *Table {
	return &Table{
		targets: map[string]*target{}, limits: map[string]limit{},
		watches: map[*nodeWatch]struct{}{}, classes: map[*classWatch]struct{}{},
	}
}

func isTarget(k store.Key) bool {
	return k.Space == v1alpha1.RootSpace && k.Group == v1alpha1.GroupVersion.Group && k.Resource == "synctargets"
}

func isSpace(k store.Key) bool {
	return k.Space == v1alpha1.RootSpace && k.Group == v1alpha1.GroupVersion.Group && k.Resource == "spaces"
}

// Reset takes all objects as of a revision. Every watch ends: what happened before is not known.
func (t *Table) Reset(revision int64, all store.Listing) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.targets, t.limits, t.history = map[string]*target{}, map[string]limit{}, nil
	for w := range all.Objects(func(k store.Key) bool { return isTarget(k) || isSpace(k) }) {
		if isTarget(w.Key) {
			t.targets[w.Key.Name] = readTarget(nil, w)
		} else {
			t.limitLocked(w)
		}
	}
	t.revision, t.forgot, t.offered = revision, revision, revision
	for w := range t.watches {
		w.expire()
	}
	for w := range t.classes {
		w.expire()
	}
}

// Apply takes one write.
func (t *Table) Apply(w store.Write) {
	if !isTarget(w.Key) && !isSpace(w.Key) {
		return // Progress follows
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.revision = max(t.revision, w.Revision)
	if isSpace(w.Key) {
		t.limitLocked(w)
		return
	}
	before := t.targets[w.Key.Name]
	after := readTarget(before, w)
	if after == before {
		return
	}
	if after == nil {
		delete(t.targets, w.Key.Name)
	} else {
		t.targets[w.Key.Name] = after
	}
	t.changedLocked(change{w.Revision, before, after})
}

// Progress says that every write up to a revision was given.
func (t *Table) Progress(revision int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.revision = max(t.revision, revision)
}

// changedLocked tells watches of a change, and remembers it. t.mu must be held.
func (t *Table) changedLocked(c change) {
	if len(t.history) == remembered {
		t.forgot = t.history[0].revision
		t.history = slices.Delete(t.history, 0, 1)
	}
	t.history = append(t.history, c)
	for w := range t.watches {
		w.change(t.usesLocked, c)
	}
	if sameClasses(c) {
		return
	}
	t.offered = c.revision
	for w := range t.classes {
		if t.usesLocked(w.space, c.before) || t.usesLocked(w.space, c.after) {
			w.expire()
		}
	}
}

// sameClasses reports whether a change is none for readers of classes.
func sameClasses(c change) bool {
	return c.before != nil && c.after != nil && slices.Equal(c.before.classes, c.after.classes) &&
		labels.Equals(c.before.labels, c.after.labels)
}

// limitLocked takes a write of a Space. Watches of the space end when it may use other targets than
// before. t.mu must be held.
func (t *Table) limitLocked(w store.Write) {
	name := w.Key.Name
	before, had := t.limits[name]
	raw := fields.Map(w.Object, "spec", "locationSelector")
	if raw == nil {
		if delete(t.limits, name); had {
			t.limits[name] = limit{selector: nil, at: w.Revision}
		}
	} else {
		text, selector := readSelector(raw)
		if had && text == before.text && before.selector != nil {
			return
		}
		t.limits[name] = limit{selector, text, w.Revision}
		had = true
	}
	if w.Object == nil {
		delete(t.limits, name)
	}
	if !had {
		return
	}
	for w := range t.watches {
		if w.space == name {
			w.expire()
		}
	}
	for w := range t.classes {
		if w.space == name {
			w.expire()
		}
	}
}

// readSelector reads a locationSelector. One that cannot be read selects nothing.
func readSelector(raw map[string]any) (text string, selector labels.Selector) {
	b, err := json.Marshal(raw)
	if err != nil {
		return "", labels.Nothing()
	}
	var s metav1.LabelSelector
	if json.Unmarshal(b, &s) != nil {
		return string(b), labels.Nothing()
	}
	selector, err = metav1.LabelSelectorAsSelector(&s)
	if err != nil {
		return string(b), labels.Nothing()
	}
	return string(b), selector
}

// usesLocked reports whether a space may use a target. t.mu must be held.
func (t *Table) usesLocked(space string, of *target) bool {
	if of == nil {
		return false
	}
	l, ok := t.limits[space]
	return !ok || l.selector == nil || l.selector.Matches(of.labels)
}

// of returns the targets that the space of a request may use, by name, and the revision as of which
// they are; 0 while nothing is known yet.
func (t *Table) of(ctx context.Context) (list []*target, revision int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.listLocked(request.Space(ctx)), t.revision
}

func (t *Table) listLocked(space string) (list []*target) {
	if space == request.AllSpaces || space == "" || space == request.NoSpace {
		return nil
	}
	for _, of := range t.targets {
		if t.usesLocked(space, of) {
			list = append(list, of)
		}
	}
	slices.SortFunc(list, func(a, b *target) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
	return list
}

// errNotLoaded is the answer while the writes of all spaces have not been given yet.
func errNotLoaded() error {
	return apierrors.NewServiceUnavailable("the targets of the center are not known yet: try again")
}

// sinceLocked returns the changes after a revision. It is false when they are not remembered, or
// when the space may use other targets since. t.mu must be held.
func (t *Table) sinceLocked(space string, revision int64) (list []change, ok bool) {
	if revision < t.forgot || t.limits[space].at > revision {
		return nil, false
	}
	for _, c := range t.history {
		if c.revision > revision {
			list = append(list, c)
		}
	}
	return list, true
}
