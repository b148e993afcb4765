package inventory

import (
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubewatch "k8s.io/apimachinery/pkg/watch"

	"skerry.dev/skerry/server/apiserver/response"
)

// pending is how many events a watch may have that its reader has not taken. Beyond that, but for
// those with which it begins, it ends, and its reader lists again.
const pending = 1000

// watch is one watch of a resource in a space. The lock of its Table is held in all methods but take.
type watch struct {
	space, resource string
	center          Center
	selects         selection
	after           int64           // changes up to this revision are known to the reader
	seen            map[string]seen // by what makes the objects

	mu     sync.Mutex
	events [][]byte
	begun  bool // the events of the beginning are queued
	ended  bool
	wake   chan struct{} // one slot
}

// seen is what the reader has of a profile or a Placement: UIDs by the names of the objects.
type seen struct {
	revision int64
	objects  map[string]string
}

// begin queues what there is; of a watch that goes on after a revision, what has changed since.
func (w *watch) begin(now map[string]source, revision int64, initial, bookmark bool) {
	for name, s := range now {
		if !initial && s.revision <= w.after {
			w.seen[name] = w.match(s)
			continue
		}
		w.update(name, map[string]source{name: s}, revision, kubewatch.Added)
	}
	if initial && bookmark {
		w.bookmark(revision, true)
	}
	w.mu.Lock()
	w.begun = true
	w.mu.Unlock()
}

func (w *watch) match(s source) seen {
	out := seen{s.revision, map[string]string{}}
	for _, o := range w.center.objects(w.space, map[string]source{"": s}) {
		if w.selects.matches(o) {
			m := o["metadata"].(map[string]any)
			out.objects[m["name"].(string)] = m["uid"].(string)
		}
	}
	return out
}

// changed queues what is new of one profile or Placement, of all where name is empty.
func (w *watch) changed(now map[string]source, name string, revision int64) {
	if revision <= w.after {
		return
	}
	names := map[string]bool{name: true}
	if name == "" {
		names = map[string]bool{}
		for n := range now {
			names[n] = true
		}
		for n := range w.seen {
			names[n] = true
		}
	}
	for n := range names {
		w.update(n, now, revision, kubewatch.Modified)
	}
}

func (w *watch) update(
	name string,
	now map[string]source,
	revision int64,
	known kubewatch.EventType,
) {
	s, is := now[name]
	before := w.seen[name]
	if is && before.objects != nil && before.revision == s.revision {
		return
	}
	left := maps.Clone(before.objects)
	after := seen{s.revision, map[string]string{}}
	if is {
		for _, o := range w.center.objects(w.space, map[string]source{name: s}) {
			if !w.selects.matches(o) {
				continue
			}
			m := o["metadata"].(map[string]any)
			n, uid := m["name"].(string), m["uid"].(string)
			as := kubewatch.Added
			switch old, had := before.objects[n]; {
			case had && old != uid:
				w.gone(n, old, revision)
			case had:
				as = known
			}
			after.objects[n] = uid
			delete(left, n)
			w.add(as, w.selects.form.of(o))
		}
	}
	for n, uid := range left {
		w.gone(n, uid, revision)
	}
	if delete(w.seen, name); is {
		w.seen[name] = after
	}
}

func (w *watch) gone(name, uid string, revision int64) {
	o := map[string]any{
		"apiVersion": Group + "/" + Version,
		"kind":       Kind(w.resource),
		"metadata": map[string]any{
			"name": name, "namespace": Namespace, "uid": uid, "resourceVersion": strconv.FormatInt(revision, 10)},
	}
	if w.resource == Decisions {
		o["decisions"] = []any{}
	} else {
		o["spec"] = map[string]any{"displayName": name, "clusterManager": map[string]any{"name": Manager}}
	}
	w.add(kubewatch.Deleted, w.selects.form.of(o))
}

// bookmark queues the revision up to which the reader knows everything.
func (w *watch) bookmark(revision int64, initial bool) {
	meta := map[string]any{
		"resourceVersion":   strconv.FormatInt(revision, 10),
		"creationTimestamp": nil,
	}
	if initial {
		meta["annotations"] = map[string]any{metav1.InitialEventsAnnotationKey: "true"}
	}
	w.add(kubewatch.Bookmark, w.selects.form.of(map[string]any{"apiVersion": Group + "/" + Version,
		"kind": Kind(w.resource), "metadata": meta}))
}

func (w *watch) add(as kubewatch.EventType, o any) {
	b, err := json.Marshal(map[string]any{"type": as, "object": o})
	if err != nil {
		return // maps, texts and numbers always encode
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.ended:
		return
	case w.begun && len(w.events) >= pending:
		w.endLocked()
	default:
		w.events = append(w.events, append(b, '\n'))
	}
	w.signal()
}

// expire ends the watch. Its reader is told to list again.
func (w *watch) expire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		w.endLocked()
		w.signal()
	}
}

// endLocked replaces what waits by the last event. w.mu must be held.
func (w *watch) endLocked() {
	b, _ := json.Marshal(map[string]any{"type": kubewatch.Error, "object": expired()})
	w.events, w.ended = [][]byte{append(b, '\n')}, true
}

func (w *watch) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// take returns what waits for the reader, and whether that is the end.
func (w *watch) take() (events [][]byte, ended bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	events, w.events = w.events, nil
	return events, w.ended
}

func expired() *metav1.Status {
	return response.Status(
		http.StatusGone,
		metav1.StatusReasonExpired,
		"what this watch shows has changed: list again",
	)
}
