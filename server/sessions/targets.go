package sessions

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

// target is what is known of a SyncTarget.
type target struct {
	key    string
	accept string               // what an admin has accepted for it
	object *v1alpha1.SyncTarget // shared: never changed
	link   policy
	detach detach
}

// targets are the SyncTargets as the last write said, and which of them need their status looked
// at.
type targets struct {
	mu      sync.Mutex
	known   map[string]target
	renamed map[formerHolder]string // whom agents stand for that joined under names of before
	dirty   map[string]bool
	again   map[string]bool // whose status could not be written
	wake    chan struct{}
	changed chan struct{} // closed and replaced when a SyncTarget was written
}

func newTargets() *targets {
	return &targets{
		known:   map[string]target{},
		renamed: map[formerHolder]string{},
		dirty:   map[string]bool{},
		again:   map[string]bool{},
		wake:    make(chan struct{}, 1),
		changed: make(chan struct{}),
	}
}

func (t *targets) get(name string) (target, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k, ok := t.known[name]
	return k, ok
}

// uid is metadata.uid of a target, empty when it is not known.
func (t *targets) uid(name string) string {
	if known, ok := t.get(name); ok {
		return string(known.object.UID)
	}
	return ""
}

// failed remembers a target for retry.
func (t *targets) failed(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.again[name] = true
}

// retry touches the targets that failed.
func (t *targets) retry() {
	t.mu.Lock()
	names := slices.Collect(maps.Keys(t.again))
	clear(t.again)
	t.mu.Unlock()
	if len(names) > 0 {
		t.touch(names...)
	}
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

// touch asks for a look at the status of targets.
func (t *targets) touch(names ...string) {
	t.mu.Lock()
	for _, name := range names {
		t.dirty[name] = true
	}
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// takeChanged returns the targets that were touched since the last call.
func (t *targets) takeChanged() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []string
	for name := range t.dirty {
		out = append(out, name)
	}
	clear(t.dirty)
	return out
}

// put takes over a SyncTarget. It reports whether the SyncTarget is new, who may come in under its
// name has changed, its link is to be used in another way, less or more is allowed, or something else
// may be there: of a relay the status says that, and no report tells it anew.
func (t *targets) put(name string, obj *v1alpha1.SyncTarget) (news bool) {
	is := target{
		key:    obj.Annotations[v1alpha1.AnnotationKey],
		accept: obj.Annotations[v1alpha1.AnnotationAccept],
		object: obj,
		link:   policyOf(obj.Spec.Link),
		detach: detachOf(obj),
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	before, known := t.known[name]
	t.known[name] = is
	t.indexLocked(name, before.object, obj)
	close(t.changed)
	t.changed = make(chan struct{})
	return !known || before.key != is.key || before.link != is.link || before.detach != is.detach ||
		before.object.Annotations[v1alpha1.AnnotationRevoked] != obj.Annotations[v1alpha1.AnnotationRevoked] ||
		holdText(before.object) != holdText(obj) ||
		!reflect.DeepEqual(before.object.Spec.Allow, obj.Spec.Allow) || redecided(&before.object.Spec, &obj.Spec)
}

// holdText tells one annotation by which releases are held from another, and from none.
func holdText(st *v1alpha1.SyncTarget) string {
	why, held := st.Annotations[v1alpha1.AnnotationHoldReleases]
	return fmt.Sprint(held, why)
}

// awaitTime is how long a join waits until it is known here.
const awaitTime = 5 * time.Second

// await waits, not for ever, until the target is known with the key, so that a site that joined is
// let in when it dials at once.
func (t *targets) await(ctx context.Context, name, key string) {
	ctx, cancel := context.WithTimeout(ctx, awaitTime)
	defer cancel()
	for ctx.Err() == nil {
		t.mu.Lock()
		known, news := t.known[name].key == key, t.changed
		t.mu.Unlock()
		if known {
			return
		}
		select {
		case <-news:
		case <-ctx.Done():
		}
	}
}

// Touch has the status of a target brought up to date: what Config tells of it has changed.
func (srv *Server) Touch(target string) { srv.targets.touch(target) }

func isTarget(k store.Key) bool {
	return k.Space == v1alpha1.RootSpace && k.Group == v1alpha1.GroupVersion.Group && k.Resource == "synctargets"
}

// Reset implements the kube API's change handler: the SyncTargets are exactly these.
func (srv *Server) Reset(_ int64, all store.Listing) {
	seen, request := map[string]bool{}, map[string]any(nil)
	for w := range all.Objects(func(k store.Key) bool { return isRequest(k) || isTarget(k) }) {
		if isRequest(w.Key) {
			request = w.Object
		}
		if isTarget(w.Key) {
			srv.wrote(w.Key.Name, w.Object)
			seen[w.Key.Name] = true
		}
	}
	for _, name := range srv.targets.names() {
		if !seen[name] {
			srv.removed(name)
		}
	}
	srv.asked(request)
	srv.assess(time.Now())
	srv.subtree.tick(time.Now())
}

// Apply implements the kube API's change handler.
func (srv *Server) Apply(w store.Write) {
	switch {
	case isRequest(w.Key):
		srv.asked(w.Object)
	case !isTarget(w.Key):
	case w.Object == nil:
		srv.removed(w.Key.Name)
	default:
		srv.wrote(w.Key.Name, w.Object)
	}
}

// Progress implements the kube API's change handler.
func (srv *Server) Progress(int64) {}

// wrote takes over a SyncTarget. A session whose key is not, or no longer, let in ends.
func (srv *Server) wrote(name string, written map[string]any) {
	obj := &v1alpha1.SyncTarget{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(written, obj); err != nil {
		// The kube API has checked it, so this is one of another version. Who may come in stands in
		// its metadata, which are read first.
		srv.cfg.Log.Warn("a SyncTarget could not be read whole", "target", name, "err", err)
	}
	obj.ManagedFields = nil // most of it, and nothing that matters here
	srv.inherit(name, obj)
	if srv.targets.put(name, obj) {
		srv.targets.touch(name)
	}
	if obj.Annotations[v1alpha1.AnnotationRenameTo] != "" || len(formerNames(obj)) > 0 {
		srv.renames.wakeUp()
	}
	srv.withdrawn(name, obj)
	news := srv.leases.wrote(obj)
	srv.subtree.observe(name, &obj.Status)
	srv.wakeRotation()
	srv.endData(name, tunnel.ErrRefused)
	if s := srv.session(name); s != nil {
		if err := srv.member(s.conn.Peer()); err != nil {
			s.cancel(err)
			return
		}
		s.use.SetNarrow(narrowOf(obj.Spec.Allow))
		s.use.SetWish(wishOf(&obj.Spec))
		if news {
			s.commands.Put(tunnel.AskLease{}) // a full queue has one, or the agent asks by itself
		}
		srv.accepted(s)
		s.markChanged()
	}
}

func (srv *Server) removed(name string) {
	srv.targets.mu.Lock()
	srv.targets.indexLocked(name, srv.targets.known[name].object, nil)
	delete(srv.targets.known, name)
	close(srv.targets.changed)
	srv.targets.changed = make(chan struct{})
	srv.usage.forget(name)
	srv.progress.forget(name)
	srv.targets.mu.Unlock()
	srv.leases.forget(name)
	srv.flaps.forget(name)
	srv.subtree.observe(name, &v1alpha1.SyncTargetStatus{})
	srv.mu.Lock()
	delete(srv.left, name)
	delete(srv.barriers, name)
	delete(srv.renames.problems, name)
	s := srv.sessions[name]
	srv.mu.Unlock()
	srv.assessOne(name, time.Now())
	if s != nil {
		s.cancel(tunnel.ErrRemoved)
	}
	srv.endData(name, tunnel.ErrRemoved)
	srv.cfg.Inboxes.Forget(name)
}
