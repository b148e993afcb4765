package desired

import (
	"hash/fnv"
	"strings"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/scheduler"
	"skerry.dev/skerry/store"
)

// Reset takes a snapshot of everything at a revision. What the catalog has and the snapshot has not
// was deleted meanwhile. Feeds stay, so that receivers go on from where they are; new ones begin at
// this revision.
func (st *State) Reset(revision int64, all store.Listing) {
	st.catalog.Lock()
	defer st.catalog.Unlock()
	first := st.catalog.Epoch == 0
	st.catalog.Epoch++
	s := st.begin(revision)
	s.bulk, s.first = true, first
	clear(st.catalog.Asked.UIDs)
	clear(st.catalog.Asked.Keys)
	st.forgetRights()
	for w := range all.Objects(decidesRights) {
		s.rights(w) // before the workloads, which would be rendered twice
	}
	isNamespace := func(k store.Key) bool { return k.Class() == store.ClassNamespace }
	scales := func(k store.Key) bool { return placement.Autoscales(k.Group, k.Resource) } // read before workloads, too
	for i, part := range []func(store.Key) bool{isControl, isNamespace, scales, func(k store.Key) bool {
		return !isControl(k) && !isNamespace(k) && !scales(k) && placement.ClassOf(k.Group, k.Resource) != placement.Never
	}} {
		for w := range all.Objects(part) {
			s.take(w)
		}
		if i == 0 {
			s.redivideAll() // before the workloads, which would be rendered twice
		}
	}
	s.sweep()
	st.catalog.EachObject(func(o *catalog.Object) { st.attribute(o) })
	s.restoreRetired()
	s.leadAll()
	s.bulk = false
	st.catalog.EachObject(func(o *catalog.Object) {
		s.settle(o, o.Present)
		st.catalog.RerenderIfStale(o)
		st.catalog.SayPodAPI(o)
	})
	s.finish()
	if first {
		st.doubtJoined(s.revision)
	}
	st.catalog.EachObject(st.catalog.Pass)
	st.TidyHooks()
	st.catalog.WakeAll()
	st.wakeRollouts()
}

// Apply takes one write, in the order of revisions.
func (st *State) Apply(w store.Write) {
	var rendered rendering
	var content *catalog.Kept
	if w.Object != nil && !isControl(w.Key) {
		rendered = st.render(w)
	} else if w.Object != nil && scheduler.IsRecord(w.Key) {
		content, _ = unpackRelease(w) // the error is that of the step
	}
	st.catalog.Lock()
	defer st.catalog.Unlock()
	s := st.begin(w.Revision)
	s.content = content
	s.rights(w)
	if rendered.body == nil {
		s.take(w)
	} else {
		s.object(w, st.catalog.KindOf(w), rendered)
	}
	s.finish()
}

// Progress tells that every write up to a revision has been applied.
func (st *State) Progress(revision int64) {
	st.catalog.Lock()
	defer st.catalog.Unlock()
	st.catalog.Advance(revision)
}

// rendering is an object as it is sent, and what it was made with.
type rendering struct {
	body    []byte
	hash    store.Hash
	name    catalog.Name
	content uint64
	digest  uint64
	options *catalog.RenderOptions
}

// render makes the bytes of an object outside of the lock, for the Placement that will most likely
// decide. Without a body it is not known to be placed.
func (st *State) render(w store.Write) rendering {
	st.catalog.RLock()
	o := st.catalog.Find(w.Key)
	var m *catalog.RenderOptions
	if o != nil {
		m = st.catalog.WantedOptions(o)
	}
	st.catalog.RUnlock()
	if placement.ClassOf(w.Key.Group, w.Key.Resource) == placement.Never || placement.Excluded(w.Key, w.Object) {
		return rendering{}
	}
	return st.renderFor(w, m)
}

func (st *State) renderFor(w store.Write, m *catalog.RenderOptions) rendering {
	meta := fields.Map(w.Object, "metadata")
	b, err := customize.Render(w.Object, st.origin(w.Key, m, fields.Clone(meta, "uid")))
	if err != nil {
		st.cfg.Log.Error("object cannot be rendered and is not delivered", "key", w.Key.String(), "err", err)
		return rendering{}
	}
	generation := customize.Number(meta["generation"])
	h, named := store.HashBody(generation, b), catalog.Name{}
	st.bodies.put(w.Key, h, b)
	if m != nil && m.Reaches {
		named.Above = fields.Clone(meta, "annotations", v1alpha1.AnnotationOriginUID)
		if customize.HasMoreThanName(w.Object) {
			name, err := customize.Name(b)
			if err != nil {
				st.cfg.Log.Error("service cannot be rendered and is not delivered", "key", w.Key.String(), "err", err)
				return rendering{}
			}
			named.Hash = store.HashBody(generation, name)
		}
	}
	content := fnv.New64a()
	content.Write(b)
	return rendering{b, h, named, content.Sum64(), st.digest(w, m), m}
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
		s.object(w, s.st.catalog.KindOf(w), rendering{})
	}
}

// object takes an object that exists. Without a body it has not been rendered yet.
func (s *step) object(w store.Write, k *catalog.Kind, as rendering) {
	st, r := s.st, readObject(w.Key, w.Object)
	s.tellNoEffect(w, r)
	if r.excluded {
		s.gone(w.Key)
		return
	}
	n := st.catalog.NamespaceOf(st.catalog.SpaceOf(w.Key.Space), w.Key.Namespace)
	o := st.catalog.Place(n, k, w.Key.Name)
	if o.Present && o.UID != r.uid {
		s.gone(w.Key) // recreated under the same name: another object
		n = st.catalog.NamespaceOf(st.catalog.SpaceOf(w.Key.Space), w.Key.Namespace)
		o = st.catalog.Place(n, k, w.Key.Name)
	}
	r.security = securityNeed(o, w, r)
	st.catalog.Asked.Outlived(w.Key, r.uid)
	labelled := !o.Present || o.Labels != r.labels
	o.Present, o.Epoch, o.UID, o.Revision, o.Generation = true, st.catalog.Epoch, r.uid, w.Revision, r.generation
	o.Deleting, o.Leaving, o.Labels, o.Note = r.deleting, r.leaving, r.labels, st.catalog.Sets.Parse(r.note)
	if o.Retired = false; o.Leaving {
		s.retire(o)
	}
	s.hook(o, r.hook)
	st.catalog.Movers.Mark(o, r.mover)
	standby(s, r.mover, n)
	stamped := o.With == nil && r.stamp != ""
	o.Duplicates = r.duplicates
	o.BeWith(st.catalog.Records.StampOf(r.stamp, r.uid))
	o.Dependents, o.ParentKeeps = r.dependents, catalog.KeepsPlace(placement.ParseSync(r.sync))
	s.orphans(o)
	indexRights(o)
	s.stay(o, r.stays)
	s.st.saysOfConditions(o, r.conditions)
	shaped := o.Shapes()
	touched := append(s.connect(o, r), st.catalog.Tie(o, r.follows, r.pods, r.runs)...)
	o.Ends, o.Paused, o.OneJob = r.ends, r.paused, r.oneJob
	o.Reach = r.reach
	reach(s, o, o.Reaching())
	importing(s, o, r.imports)
	st.catalog.Affine.Read(o, r.affinity)
	st.catalog.Uncommon.Read(o, r.uncommon)
	catalog.ReadDoors(st.catalog, o, r.openUntil)
	catalog.CloseNext(st.catalog, o)
	o.ReadOnce(w.Key, w.Object)
	ended := r.finished && !o.Finished
	if o.Finished = r.finished; o.Finished {
		st.catalog.Finished[o] = struct{}{}
	} else {
		delete(st.catalog.Finished, o)
	}
	if o.Kind.Resource == store.UpsyncsResource && o.Kind.Order == store.ClassRule {
		o.Namespace.Space.Upsyncs[o] = r.fromParent
	}
	recorded, left := s.recorded(o, w, labelled), o.Source
	if st.attribute(o) && o.Work != nil {
		touched = append(touched, o.Work.Names...)
	}
	if stamped && o.Source != nil && !s.bulk {
		st.catalog.Enqueue(o.Source) // it may have waited for that
	}
	if c := st.catalog.Records.Cohorts[st.catalog.Records.Index.Names(binding.ObjectID(o.UID))]; c != nil && !s.bulk {
		c.Objects[o] = struct{}{}
	}
	if o.Source != nil && o.Source.Kind == catalog.OfObject {
		o.Source.Evict = placement.Split(r.evict)
	}
	before := o.Hash
	if now := st.catalog.WantedOptions(o); as.body == nil || now != as.options {
		as = st.renderFor(w, now)
	}
	rendered, kept := o.Options, st.catalog.KeepsPlace(o)
	if o.Digest != as.digest || labelled {
		st.catalog.ContentChanged(o.Source)
	}
	name(o, as.name)
	changed := o.Content != as.content
	o.Hash, o.Content, o.Digest, o.Options = as.hash, as.content, as.digest, as.options
	catalog.WakeUnless(st.catalog, o, kept)
	if changed && !s.bulk {
		st.hookChanged(o)
	}
	if st.catalog.Rolling(o.Source) != nil && st.catalog.Scaling(o) {
		st.catalog.Rolls.Add(o.Source.UnitRef())
	}
	s.tellPodAPI(o, rendered)
	st.sized(o, len(as.body))
	s.settle(o, o.Hash != before || st.catalog.Rolling(o.Source) != nil)
	if ended && o.Work != nil {
		touched = append(touched, o.Work.Names...)
	}
	for _, dep := range touched {
		s.settle(dep, false)
	}
	shape(s, append(shaped, o.Shapes()...))
	if recorded {
		s.follow(o)
	}
	if !s.bulk {
		st.catalog.Note(o)
		st.catalog.Pass(o)
		st.catalog.SayPodAPI(o)
		st.catalog.Wake(o, labelled)
		if left != nil && left != o.Source {
			st.catalog.Enqueue(left) // what held its group back may have left it
		}
	}
}

// recorded takes over what a Namespace or an object with a record of its own says, and tells
// whether others follow it.
func (s *step) recorded(o *catalog.Object, w store.Write, labelled bool) bool {
	st := s.st
	switch {
	case o.Kind.Order == store.ClassNamespace:
		n := st.catalog.NamespaceOf(o.Namespace.Space, o.Name)
		annotations := fields.Map(w.Object, "metadata", "annotations")
		word := placement.ReachWord(annotations[v1alpha1.AnnotationReach])
		moves := v1alpha1.VolumePolicy(fields.Clone(annotations, v1alpha1.AnnotationVolumes))
		changed := n.Self == nil || labelled || n.Reach != word
		n.Reach, n.Volumes = word, moves
		// What cannot be read says so when it is written, see placement.NoEffect.
		n.Replication, _ = placement.ReadReplication(fields.String(annotations, v1alpha1.AnnotationReplication))
		n.Self, n.Labels = o, o.Labels
		st.catalog.Known(&n.Group)
		n.Group.Evict = placement.Split(fields.Clone(annotations, v1alpha1.AnnotationEvict))
		n.State = catalog.ReadConditions(w.Object)
		s.livesOn(n, w.Object)
		if o.Leaving && !s.bulk {
			s.dropRetiredIn(n)
		}
		return changed
	case o.Kind.Order == store.ClassCRD:
		o.Namespace.Space.CRDs[o] = struct{}{}
	case o.Kind.Order == store.ClassRule && o.Kind.Resource == store.RulesResource:
		o.Namespace.Space.Customizers[o] = struct{}{}
	}
	return false
}

// follow settles what lives in a Namespace after its record or its labels changed.
func (s *step) follow(o *catalog.Object) {
	if s.bulk {
		return
	}
	n := s.st.catalog.SpaceOf(o.Namespace.Space.Name).Namespaces[o.Name]
	for _, m := range n.Objects {
		s.moved(m)
	}
}

// moved settles an object after who decides about it, or what was decided, may have changed.
func (s *step) moved(o *catalog.Object) {
	if s.bulk {
		return
	}
	s.st.attribute(o)
	reach(s, o, o.Present && !o.Retired && o.Reaching())
	s.st.catalog.RerenderIfStale(o)
	shape(s, o.Shapes())
	s.settle(o, false)
	if o.Work != nil {
		for _, dep := range o.Work.Names { // who decides says whether they go with it
			s.settle(dep, false)
		}
	}
	s.st.catalog.Pass(o)
	s.st.catalog.Note(o)
}

// attribute finds out whose wish an object is for, and reports whether that is another one now. Where it
// is does not change by that: it passes by a record. The lock must be held.
func (st *State) attribute(o *catalog.Object) bool {
	if !o.Present || o.Retired {
		return false
	}
	old := o.Source
	next, losers := st.catalog.SourceOf(o)
	if st.catalog.Contend(o, next, losers); next == old {
		return false
	}
	if delete(st.catalog.Records.Keeping, o); old != nil && o.On.Len() > 0 && o.KeepsPlace() {
		st.catalog.Records.Keeping[o] = struct{}{}
	}
	st.toldContent(o)
	o.WishedBy(next)
	if st.catalog.Epoch > 1 || st.catalog.Applied != nil {
		st.tellOverruled(o)
	}
	st.toldContent(o)
	st.catalog.ContentChanged(old)
	st.catalog.ContentChanged(next)
	if next != nil {
		st.catalog.Enqueue(next)
	}
	return true
}

// isControl reports whether a write is about what decides, not about what is placed.
func isControl(k store.Key) bool {
	return k.Group == v1alpha1.GroupVersion.Group &&
		(k.Resource == "placements" || k.Resource == "deletions" || scheduler.IsRecord(k) || k.Space == v1alpha1.RootSpace) &&
		!strings.Contains(k.Resource, "/")
}
