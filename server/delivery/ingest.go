package delivery

import (
	"hash/fnv"
	"strings"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// Reset takes a snapshot of everything at a revision. What the catalog has and the snapshot has not
// was deleted meanwhile. Feeds stay, so that receivers go on from where they are; new ones begin at
// this revision.
func (d *Delivery) Reset(revision int64, all store.Listing) {
	d.mu.Lock()
	defer d.mu.Unlock()
	first := d.epoch == 0
	d.epoch++
	s := d.begin(revision)
	s.bulk, s.first = true, first
	clear(d.asked.uids)
	clear(d.asked.keys)
	d.forgetRights()
	for w := range all.Objects(decidesRights) {
		s.rights(w) // before the workloads, which would be rendered twice
	}
	isNamespace := func(k store.Key) bool { return k.Class() == store.ClassNamespace }
	for _, part := range []func(store.Key) bool{isControl, isNamespace, func(k store.Key) bool {
		return !isControl(k) && !isNamespace(k) && placement.ClassOf(k.Group, k.Resource) != placement.Never
	}} {
		for w := range all.Objects(part) {
			s.take(w)
		}
	}
	s.sweep()
	d.eachObject(func(o *object) {
		d.attribute(o, first)
		d.release(o)
	})
	s.bulk = false
	d.eachObject(func(o *object) {
		s.settle(o, o.present)
		d.rerenderIfStaleLocked(o)
		d.sayPodAPI(o)
	})
	s.finish()
	if first {
		d.doubtJoined(s.revision)
	}
	d.wakeAll()
}

// Apply takes one write, in the order of revisions.
func (d *Delivery) Apply(w store.Write) {
	var rendered rendering
	if w.Object != nil && !isControl(w.Key) {
		rendered = d.render(w)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.begin(w.Revision)
	s.rights(w)
	if rendered.body == nil {
		s.take(w)
	} else {
		s.object(w, d.kindOf(w), rendered)
	}
	s.finish()
}

// Progress tells that every write up to a revision has been applied.
func (d *Delivery) Progress(revision int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.revision = max(d.revision, revision)
}

// rendering is an object as it is sent, and what it was made with.
type rendering struct {
	body    []byte
	hash    store.Hash
	content uint64
	options *renderOptions
}

// render makes the bytes of an object outside of the lock, for the Placement that will most likely
// decide. Without a body it is not known to be placed.
func (d *Delivery) render(w store.Write) rendering {
	d.mu.RLock()
	o := d.find(w.Key)
	var m *renderOptions
	if o != nil {
		m = o.wantedOptions()
	}
	d.mu.RUnlock()
	if placement.ClassOf(w.Key.Group, w.Key.Resource) == placement.Never || placement.Excluded(w.Key, w.Object) {
		return rendering{}
	}
	return d.renderFor(w, m)
}

func (d *Delivery) renderFor(w store.Write, m *renderOptions) rendering {
	meta := fields.Map(w.Object, "metadata")
	b, err := customize.Render(w.Object, d.origin(w.Key, m, str(meta, "uid")))
	if err != nil {
		d.cfg.Log.Error("object cannot be rendered and is not delivered", "key", w.Key.String(), "err", err)
		return rendering{}
	}
	h := store.HashBody(customize.Number(meta["generation"]), b)
	d.bodies.put(w.Key, h, b)
	content := fnv.New64a()
	content.Write(b)
	return rendering{b, h, content.Sum64(), m}
}

// take sorts one write by what it is about.
func (s *step) take(w store.Write) {
	switch {
	case isControl(w.Key):
		s.control(w)
	case placement.ClassOf(w.Key.Group, w.Key.Resource) == placement.Never:
	case w.Object == nil:
		s.gone(w.Key)
	default:
		s.object(w, s.d.kindOf(w), rendering{})
	}
}

// object takes an object that exists. Without a body it has not been rendered yet.
func (s *step) object(w store.Write, k *kind, as rendering) {
	d, r := s.d, readObject(w.Key, w.Object)
	s.tellNoEffect(w, r)
	if r.excluded {
		s.gone(w.Key)
		return
	}
	n := d.namespaceOf(d.spaceOf(w.Key.Space), w.Key.Namespace)
	o := d.place(n, k, w.Key.Name)
	if o.present && o.uid != r.uid {
		s.gone(w.Key) // recreated under the same name: another object
		n = d.namespaceOf(d.spaceOf(w.Key.Space), w.Key.Namespace)
		o = d.place(n, k, w.Key.Name)
	}
	d.asked.outlived(w.Key, r.uid)
	labelled := !o.present || o.labels != r.labels
	o.present, o.epoch, o.uid, o.revision, o.generation = true, d.epoch, r.uid, w.Revision, r.generation
	o.leaving, o.labels, o.note = r.leaving, r.labels, d.sets.parse(r.note)
	o.undecided, o.ownAnnotations = r.undecided, r.move != "" || r.undecided
	o.dependents, o.parentKeeps = r.dependents, keepsPlace(placement.ParseSync(r.sync))
	indexRights(o)
	touched := s.connect(o, r)
	ended := d.finish(o, r.finished, s.first)
	recorded, left := s.recorded(o, w, labelled), o.source
	d.attribute(o, s.first)
	if o.source != nil && o.source.kind == ofObject {
		o.source.move = parseMove(r.move)
	}
	d.release(o)
	before, content := o.hash, o.content
	if now := o.wantedOptions(); as.body == nil || now != as.options {
		as = d.renderFor(w, now)
	}
	rendered := o.options
	o.hash, o.content, o.options = as.hash, as.content, as.options
	s.tellPodAPI(o, rendered)
	d.sized(o, len(as.body))
	if h := d.holds[o]; h != nil && h.failed != "" && o.content != content {
		s.retryHolds(func(other *hold) bool { return other.key == h.key })
	}
	s.settle(o, o.hash != before)
	if ended && o.work != nil {
		touched = append(touched, o.work.names...)
	}
	for _, dep := range touched {
		s.settle(dep, false)
	}
	if recorded {
		s.follow(o)
	}
	if !s.bulk {
		d.note(o)
		d.sayPodAPI(o)
		d.wake(o, labelled)
		if left != nil && left != o.source {
			d.enqueue(left) // what held its group back may have left it
		}
	}
}

// recorded takes over what a Namespace or an object with a record of its own says, and tells
// whether others follow it.
func (s *step) recorded(o *object, w store.Write, labelled bool) bool {
	d := s.d
	switch {
	case o.kind.order == store.ClassNamespace:
		n := d.namespaceOf(o.ns.space, o.name)
		changed := n.self == nil || n.group.record != o.note || labelled
		n.self, n.labels, n.group.record = o, o.labels, o.note
		annotations := fields.Map(w.Object, "metadata", "annotations")
		n.group.move = parseMove(str(annotations, v1alpha1.AnnotationMove))
		n.group.leave(placement.Split(str(annotations, v1alpha1.AnnotationLeft)))
		n.state = readConditions(w.Object)
		return changed
	case o.kind.order == store.ClassCRD:
		o.ns.space.crds[o] = struct{}{}
	case o.source != nil && o.source.kind == ofObject:
		o.source.annotated()
	}
	return false
}

// follow settles what lives in a Namespace after its record or its labels changed.
func (s *step) follow(o *object) {
	if s.bulk {
		return
	}
	n := s.d.spaceOf(o.ns.space.name).namespaces[o.name]
	for _, m := range n.objects {
		s.moved(m)
	}
}

// moved settles an object after who decides about it, or what was decided, may have changed.
func (s *step) moved(o *object) {
	if s.bulk {
		return
	}
	s.d.attribute(o, false)
	s.d.release(o)
	s.d.rerenderIfStaleLocked(o)
	if s.d.holds[o] != nil {
		s.d.groups.Add(ref{kind: ofHold, key: o.key()})
	}
	s.settle(o, false)
	s.d.note(o)
}

// isControl reports whether a write is about what decides, not about what is placed.
func isControl(k store.Key) bool {
	return k.Group == v1alpha1.GroupVersion.Group &&
		(k.Resource == "placements" || k.Resource == "deletions" || k.Space == v1alpha1.RootSpace) &&
		!strings.Contains(k.Resource, "/")
}
