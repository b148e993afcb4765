package delivery

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/volumes"
	"skerry.dev/skerry/store"
)

// look is one look at a record: what of it the catalog knows, by value, and what is to be asked of
// targets once the lock is free.
type look struct {
	record binding.Record
	facts  binding.Facts
	asked  []question
	names  map[binding.TargetID]string
	// confirms are the revisions that targets which were left have to confirm.
	confirms map[binding.TargetID]int64
	// sole are the targets that have what must exist once.
	sole map[binding.TargetID]struct{}
	// beside are those to which comes last what moves last, see binding.Record.Beside.
	beside []binding.TargetID
	// handsOver are those that were left, and on which nothing is waited for but what comes last.
	handsOver []binding.TargetID
	// volumes, per target, are what the objects have there; notReady says what is missing, and
	// refused whether that is a refusal; unseen and present are objects that it has not reported, or
	// reports.
	volumes                   map[binding.TargetID][]store.Key
	notReady, unseen, present map[binding.TargetID]string
	refused                   map[binding.TargetID]bool
	// eased are the targets that have less than is wished, and as much as the ones that they replace, or that
	// lack an address.
	eased map[binding.TargetID]easing
	// begun, per target, is what has begun there and must run once to its end, or may have.
	begun map[binding.TargetID][]store.Key
	// restarts are the targets on which what has begun is stopped, to begin anew elsewhere.
	restarts map[binding.TargetID]struct{}
	// fenced is what of it must not run twice, absent what is known of that on targets of the record that
	// are away, and failover what its Placement says of them.
	fenced   fenced
	absent   map[binding.TargetID]placement.Absence
	failover v1alpha1.FailoverMode
	// hooks run before a target is left; hooked is what is known of those that run now, and unhooked are
	// targets that are left without, and why.
	of       binding.Ref
	space    string
	hooks    []v1alpha1.MoveHook
	spec     int64 // the generation of the Placement whose hooks they are
	hooked   map[binding.TargetID]hooked
	unhooked map[binding.TargetID]string
	// left are the targets that it must not stay on, and why.
	left []placement.Verdict
	// moves is what is to be done with the volumes, see volumeMoves.
	moves volumeMove
	// replication is what is wished of the standby of the volumes, where replicates. settles is the standby that is to be
	// made ready to begin on, and promoted says that the unit begins on it.
	replication *v1alpha1.VolumeReplication
	replicates  bool
	settles     *volumes.Replica
	promoted    bool
	// strands is a target that is wished to be left for nowhere, and has a volume.
	strands binding.TargetID
}

// question asks whether an object has arrived on a target.
type question struct {
	key    store.Key
	demand placement.Demand
	unsent string // why the center does not send it
	single bool   // it is on one target only
	last   bool   // see catalog.Object.MovesLast
	volume bool   // it may have one
	claim  bool   // it is one
	ends   bool   // it runs once to its end
	runsOn bool   // it must not run twice, and is let go where it leaves
	paused bool
	served bool         // it is a Service, or one selects its pods
	named  *catalog.Set // targets that have it for its name alone
	feeds  *catalog.Set // targets that have it at all
	// entries are the Services and Ingresses by which others reach it, none where nothing is replaced.
	entries []store.Key
	// scaling: it is yet to be sent with the replicas that it is to have.
	scaling bool
	// versions are nil where all targets are asked the same.
	versions *placement.Versions
}

// question asks about an object. The lock must be held.
func (d *Delivery) question(o *catalog.Object) question {
	return question{key: o.Key(), demand: o.Demand(), unsent: d.catalog.Unsent(o),
		single: o.KeptSingle(), last: o.MovesLast(),
		volume: o.IsClaim() || o.Work != nil && o.Work.Templates, claim: o.IsClaim(),
		runsOn: o.RunsOnce() && d.catalog.KeepsPlace(o),
		served: o.Served(), named: o.Named, feeds: d.catalog.Feeds(o), ends: o.Ends && o.Hook == nil, paused: o.Paused,
		scaling: d.catalog.Scaling(o), versions: d.catalog.Versions(o)}
}

// text names the object in messages.
func (q question) text() string { return q.key.Resource + "/" + q.key.Name }

// byKey orders questions. It makes no strings for that: a group may have thousands of objects.
func byKey(a, b question) int {
	return cmp.Or(strings.Compare(a.key.Space, b.key.Space), strings.Compare(a.key.Group, b.key.Group),
		strings.Compare(a.key.Resource, b.key.Resource), strings.Compare(a.key.Namespace, b.key.Namespace),
		strings.Compare(a.key.Name, b.key.Name))
}

// on is what is asked of a target. It is false for a target whose release does not have the object.
func (q question) on(target string) (placement.Demand, bool) { return q.versions.At(target, q.demand) }

// observe begins a look at a record. The lock must be held.
func (d *Delivery) observe(ref binding.Ref, r binding.Record, g *catalog.Group, members []*catalog.Object) *look {
	l := &look{record: r, of: ref, hooks: g.Hooks(), names: map[binding.TargetID]string{},
		confirms: map[binding.TargetID]int64{},
		sole:     map[binding.TargetID]struct{}{}}
	l.facts.Now = time.Now().Unix()
	l.facts.Timeout = int64(placement.ReadyTimeout / time.Second)
	if g != nil && g.Book != nil {
		l.spec = g.Book.Generation
	}
	if g != nil {
		l.facts.Timeout = max(1, int64(g.Patience()/time.Second))
		l.facts.BreakFirst = g.BreaksFirst()
		l.moves.wished, l.moves.mayPay = g.MovesVolumes(), g.MayPay()
		l.replicating(g)
	}
	replaces := slices.ContainsFunc(r.Places, func(p binding.Place) bool { return p.For != 0 })
	l.asked = make([]question, 0, len(members))
	for _, o := range members {
		l.space = o.Namespace.Space.Name
		if d.catalog.OnlyAlong(o) {
			continue
		}
		q := d.question(o)
		if q.volume {
			l.moves.add(d.catalog, q, o)
		}
		if replaces {
			q.entries = o.Entries()
		}
		l.facts.Singles = l.facts.Singles || q.single
		l.facts.HandsOver = l.facts.HandsOver || q.last
		l.asked = append(l.asked, q)
	}
	for _, p := range r.Places {
		if p.Off {
			l.confirms[p.Target] = d.catalog.Records.Index.Confirms(ref, p.Target)
		}
		if p.Sole {
			l.sole[p.Target] = struct{}{}
		}
	}
	if l.beside = r.Beside(); l.facts.HandsOver {
		l.handsOver = r.HandsOver()
	}
	if here := r.Here(); len(l.sole) == 0 && len(here) > 0 {
		l.sole[here[0]] = struct{}{}
	}
	return l
}

// want fills in what is wished, and what is known of each target that the record or the wish names.
// The lock must be held.
func (d *Delivery) want(l *look, wish binding.Wish, wanted []string, gone []string, left []placement.Verdict,
	try func(*catalog.Target) uint64) {
	f := &l.facts
	f.Wish, l.left = wish, left
	ids := map[binding.TargetID]struct{}{}
	for _, name := range wanted {
		if t := d.catalog.Targets[name]; t != nil {
			f.Wanted = append(f.Wanted, t.ID)
			ids[t.ID] = struct{}{}
		}
	}
	for _, p := range l.record.Places {
		ids[p.Target] = struct{}{}
		if p.For != 0 {
			ids[p.For] = struct{}{}
		}
	}
	for _, g := range l.record.GaveUp {
		ids[g.Target] = struct{}{}
	}
	for id := range ids {
		is := d.catalog.Records.Targets.Of(id)
		l.names[id] = is.Name
		t := d.catalog.Targets[is.Name]
		if t == nil || t.UID != is.UID {
			continue
		}
		known := binding.Target{ID: id, Away: !t.Connected, Try: connected(l.record, id, t, try(t)), Fence: d.fenceOf(l, t)}
		d.hook(l, t, &known)
		switch {
		case t.Emptied, slices.Contains(gone, is.Name):
			known.Leave = binding.Evict
		case slices.Contains(wanted, is.Name):
		case slices.ContainsFunc(left, func(v placement.Verdict) bool { return v.Target == is.Name && mustLeave(v) }):
			known.Leave = binding.Drain
		}
		f.Targets = append(f.Targets, known)
	}
	slices.SortFunc(f.Targets, func(a, b binding.Target) int { return int(a.ID) - int(b.ID) })
}

// connected puts into a Try whether the target has a session. One that had none when it was given up
// is worth another try once it has; that one which had one has none now is no news.
func connected(r binding.Record, id binding.TargetID, t *catalog.Target, try uint64) uint64 {
	with, without := try|1, try&^1
	if t.Connected || slices.Contains(r.GaveUp, binding.GaveUp{Target: id, Try: with}) {
		return with
	}
	return without
}

// try stands for all that a new attempt to be on a target would depend on: the objects with what
// they name, the wish, and the target.
func try(members []*catalog.Object, wish placement.Wish, g *catalog.Group) func(*catalog.Target) uint64 {
	var sum uint64 // of all objects, in any order
	h, text := fnv.New64a(), []byte(nil)
	add := func(o *catalog.Object) {
		text = append(o.Key().AppendTo(text[:0]), 0)
		text = strconv.AppendUint(text, o.Content, 16)
		h.Reset()
		h.Write(text)
		sum += h.Sum64()
	}
	for _, o := range members {
		add(o)
		if o.Work != nil {
			for _, dep := range o.Work.Names {
				if dep.Present {
					add(dep)
				}
			}
		}
	}
	return func(t *catalog.Target) uint64 {
		all := fnv.New64a()
		fmt.Fprintf(all, "%x %s", sum, wish)
		if g != nil {
			fmt.Fprintf(all, " %s %v", g.Patience(), g.BreaksFirst())
		}
		fmt.Fprintf(all, "\x00%s %s %s %v %v", t.Name, t.UID, t.Labels, t.Unschedulable, t.Taints)
		return all.Sum64()
	}
}

// rests reports whether no report can change a record: it is where it is wished.
func (l *look) rests() bool {
	here, f := l.record.Here(), &l.facts
	if !l.record.Settled() || len(l.record.GaveUp) > 0 || f.Wish == binding.Nowhere ||
		slices.ContainsFunc(f.Targets, func(t binding.Target) bool { return t.Leave != binding.MayStay }) {
		return false
	}
	return f.Wish == binding.NoOpinion || len(here) == len(f.Wanted) &&
		!slices.ContainsFunc(here, func(t binding.TargetID) bool { return !slices.Contains(f.Wanted, t) })
}

// ask asks the targets of a look. No lock is held.
func (d *Delivery) ask(l *look) {
	slices.SortFunc(l.asked, byKey) // so that it is the same object each time that is named as missing
	l.volumes, l.notReady = map[binding.TargetID][]store.Key{}, map[binding.TargetID]string{}
	l.unseen, l.present = map[binding.TargetID]string{}, map[binding.TargetID]string{}
	l.eased = map[binding.TargetID]easing{}
	l.askHooks(d)
	l.refused, l.begun = map[binding.TargetID]bool{}, map[binding.TargetID][]store.Key{}
	for i := range l.facts.Targets {
		t := l.facts.Targets[i].ID
		name := l.names[t]
		why, refused := d.first(name, l.instead(t), l.onlyAt(t))
		if why != "" {
			l.notReady[t], l.refused[t] = why, refused
		}
		for _, q := range l.asked {
			demand, has := q.on(name)
			p, ok := d.cfg.Progress(name, q.key)
			reported := ok && p.UID == demand.UID && !q.named.Has(name)
			if !has && !reported {
				continue
			}
			if reported && p.Refused != nil && p.Applied == (store.Hash{}) && !l.lacks(t, q) {
				l.facts.Targets[i].Refuses = true
			}
			if reported && q.volume && p.HasVolume && !d.catalog.Discards(name) && !l.leavesVolumes(t) {
				l.volumes[t] = append(l.volumes[t], q.key)
			}
			begun := !reported || p.Begun // what is silent may have begun
			if q.ends && begun && q.unsent == "" && !l.lacks(t, q) && l.mayRunAt(t) && !d.catalog.Discards(name) {
				l.begun[t] = append(l.begun[t], q.key)
			}
			if reported && l.present[t] == "" && l.awaited(t, q) && !l.neededAt(t, q) {
				l.present[t] = q.text()
			} else if !reported && l.unseen[t] == "" {
				l.unseen[t] = q.text()
			}
		}
	}
	for i := range l.facts.Targets {
		t := &l.facts.Targets[i]
		begun := l.waitsFor(t.ID)
		t.Pinned = l.pinned(t.ID) || begun || len(l.runningOn(t.ID)) > 0
		l.facts.Begun = l.facts.Begun || begun
	}
	d.moves.ask(l)
	if l.facts.Wish == binding.Nowhere {
		for _, p := range l.record.Places {
			if (!p.Off || p.Copying) && len(l.volumes[p.Target]) > 0 {
				l.strands, l.facts.Wish = p.Target, binding.NoOpinion // its data would be deleted with it
				break
			}
		}
	}
	l.facts.Observe(l.record, len(l.asked), &answers{d, l})
	d.moves.copied(l)
}

// mayRunAt reports whether something may run on a target of the record.
func (l *look) mayRunAt(t binding.TargetID) bool {
	a, away := l.absent[t]
	return l.record.Has(t) && !(away && a.Certain)
}

// pinned reports whether a volume would be left behind on a target: one that no target has which was
// there before and stays.
func (l *look) pinned(t binding.TargetID) bool {
	volumes := l.volumes[t]
	if len(volumes) == 0 {
		return false
	}
	var of binding.TargetID
	for _, p := range l.record.Places {
		if p.Target == t {
			of = p.For
		}
	}
	for _, p := range l.record.Places {
		if p.Target == t {
			break
		}
		if p.Off || p.Target != of && !slices.Contains(l.facts.Wanted, p.Target) {
			continue
		}
		if !slices.ContainsFunc(volumes, func(v store.Key) bool { return !slices.Contains(l.volumes[p.Target], v) }) {
			return false
		}
	}
	return true
}

// instead is the target that a target stands beside and is to replace, empty for none.
func (l *look) instead(t binding.TargetID) string {
	for _, p := range l.record.Places {
		if p.Target == t && !p.Off && p.For != 0 && l.record.Has(p.For) {
			return l.names[p.For]
		}
	}
	return ""
}
