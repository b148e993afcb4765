package door

import (
	"errors"
	"iter"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// annotationKey holds the SHA-256 of the key that a target joined with.
const annotationKey = "skerry.dev/key"

// errRemoved ends the session of a target whose SyncTarget was deleted.
var errRemoved = errors.New("the SyncTarget was removed")

// target is what the door knows of a SyncTarget.
type target struct {
	key    string
	object map[string]any // shared: never changed
}

// targets are the SyncTargets as the last write said, and which of them need their status looked at.
type targets struct {
	mu    sync.Mutex
	known map[string]target
	dirty map[string]bool
	wake  chan struct{}
}

func newTargets() *targets {
	return &targets{known: map[string]target{}, dirty: map[string]bool{}, wake: make(chan struct{}, 1)}
}

func (t *targets) get(name string) (target, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k, ok := t.known[name]
	return k, ok
}

func (t *targets) names() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []string
	for name := range t.known {
		out = append(out, name)
	}
	return out
}

// touch asks for a look at the status of a target.
func (t *targets) touch(name string) {
	t.mu.Lock()
	t.dirty[name] = true
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// take returns the targets that were touched since the last call.
func (t *targets) take() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []string
	for name := range t.dirty {
		out = append(out, name)
	}
	clear(t.dirty)
	return out
}

func (t *targets) put(name string, obj map[string]any) {
	key, _, _ := unstructured.NestedString(obj, "metadata", "annotations", annotationKey)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known[name] = target{key: key, object: obj}
}

func isTarget(k store.Key) bool {
	return k.Space == v1alpha1.RootSpace && k.Group == v1alpha1.GroupVersion.Group && k.Resource == "synctargets"
}

// Reset implements the kube API's change handler: the SyncTargets are exactly these.
func (d *Door) Reset(_ int64, all iter.Seq[store.Write]) {
	seen := map[string]bool{}
	for w := range all {
		if isTarget(w.Key) {
			d.targets.put(w.Key.Name, w.Object)
			seen[w.Key.Name] = true
		}
	}
	for _, name := range d.targets.names() {
		if !seen[name] {
			d.removed(name)
		}
	}
}

// Apply implements the kube API's change handler.
func (d *Door) Apply(w store.Write) {
	switch {
	case !isTarget(w.Key):
	case w.Object == nil:
		d.removed(w.Key.Name)
	default:
		d.targets.put(w.Key.Name, w.Object)
	}
}

// Progress implements the kube API's change handler.
func (d *Door) Progress(int64) {}

func (d *Door) removed(name string) {
	d.targets.mu.Lock()
	delete(d.targets.known, name)
	d.targets.mu.Unlock()
	if s := d.session(name); s != nil {
		s.cancel(errRemoved)
	}
}
