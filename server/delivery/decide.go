package delivery

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// plan is one look at a group: what is, what is wanted, and what must be asked before anything is
// removed.
type plan struct {
	ref        ref
	group      *group
	key        store.Key // of the object that holds the record
	apiVersion string
	kindName   string
	uid        string
	version    string // resourceVersion
	generation int64
	record     *set
	annotation string // what stands on the holder
	undecided  bool   // what stands there says that it is no record
	left       []string
	regained   []string
	untold     bool       // not all that was regained can be told now
	first      *store.Key // what is decided about first
	choice     placement.Choice
	state      placement.State
	asked      []question
	volumes    []question
	conditions conditions
	conflict   string
	status     map[string]any // of a Placement
	problem    string
	refused    string // of what is wanted somewhere, and why
	nowhere    bool   // nothing says where to
	patience   time.Duration
}

// errUndecided is returned while an object says that who decides about it has changed, and not yet
// where it is.
var errUndecided = errors.New("this object is decided about, or noted, first")

// decide looks at one group and records its next step, if there is one. It returns an error when
// the step could not be recorded and should be tried again.
func (d *Delivery) decide(ctx context.Context, r ref) error {
	if r.kind == ofHold {
		return d.letGo(ctx, r)
	}
	p := d.look(r)
	if p == nil {
		d.settled(r)
		return nil
	}
	if p.first != nil {
		return d.waitFor(ctx, p)
	}
	for _, q := range p.volumes {
		for _, t := range q.targets {
			if pr, ok := d.cfg.Progress(t, q.key); ok && pr.HasVolume && pr.UID == q.demand.UID {
				p.state.Volumes[t] = append(p.state.Volumes[t], q.key.Resource+"/"+q.key.Name)
			}
		}
	}
	for _, t := range p.state.Volumes {
		sort.Strings(t)
	}
	d.askReady(p)
	d.askMove(p)
	step := placement.Next(p.state)
	stamp(&step, time.Now())
	d.underWay(p, step)
	if err := d.record(ctx, p, step); err != nil {
		return err
	}
	d.wakeAt(p, step.Move)
	if p.untold {
		return fmt.Errorf("decide %s: %w", r, errUndecided)
	}
	return nil
}

// askReady finds, for each wanted target, the object that people should know of: the first that is
// refused, else the first that has not arrived.
func (d *Delivery) askReady(p *plan) {
	for _, t := range p.state.Wanted {
		if why, refused := d.first(t, p.asked); why != "" {
			p.state.NotReady[t] = why
			if refused {
				p.refused = p.state.NotReady[t]
			}
		}
	}
}

// look reads everything about a group that the catalog knows. It is nil when there is nothing to
// decide.
func (d *Delivery) look(r ref) *plan {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.group(r)
	if g == nil || !g.space.known || g.kind == ofObject && g.object.finished {
		return nil
	}
	p := &plan{
		ref:        r,
		group:      g,
		key:        r.key,
		record:     g.record,
		annotation: g.annotation(),
		undecided:  g.noted.undecided,
		left:       g.left,
		regained:   d.tellable(g),
	}
	p.untold = len(p.regained) < len(g.regained)
	if !d.holder(p) {
		return nil
	}
	empty := true
	g.members(func(*object) bool { empty = false; return false })
	if empty && g.kind == ofNamespace && g.record == nil {
		return nil // an empty namespace costs nothing until there is something in it
	}
	current := g.record
	wish := g.wish()
	world := d.world(g.space)
	if p.problem == "" {
		p.choice = placement.Choose(wish, world, current.list())
	}
	p.state = placement.State{Current: current.list(), Wanted: p.choice.Targets, Empty: empty,
		Volumes: map[string][]string{}, NotReady: map[string]string{}}
	p.state.Suspended = g.kind == ofPlacement && g.book.rule != nil && g.book.rule.Suspended
	for _, t := range current.list() {
		if d.targets[t] == nil || d.targets[t].emptied {
			p.state.Gone = append(p.state.Gone, t)
		}
	}
	p.nowhere = wish.Nowhere() && p.problem == ""
	p.patience = g.patience()
	g.moving = len(p.choice.Targets) > 0 && !placement.Same(current.list(), p.choice.Targets) &&
		!g.settledBack(current.list()) ||
		g.pending(current.list())
	d.remember(p, wish, world)
	if g.kind == ofNamespace && g.moving {
		if p.first = d.undecided(g); p.first != nil {
			return p
		}
	}
	if (g.moving || g.move != nil) && (current != nil || g.move != nil) {
		d.inquire(p, current)
	}
	if g.kind == ofPlacement {
		p.conflict = g.conflict()
	}
	return p
}

// waitFor says why a namespace does not move yet. What it has to tell of where its objects are held
// is written meanwhile: their notes wait for that.
func (d *Delivery) waitFor(ctx context.Context, p *plan) error {
	if len(p.regained) > 0 {
		stays := placement.Step{Decision: p.state.Current, Phase: placement.Staying}
		if err := d.recordMarks(ctx, p, stays, p.record.record(), moveText(p.state.Move)); err != nil {
			return err
		}
	}
	return fmt.Errorf("decide %s: %s: %w", p.ref, p.first, errUndecided)
}

// tellable are the targets of which a namespace may say now that it has not left them: no
// annotation of another of its objects, from before that left them, names them any more. Those that
// do are written first: after a restart, with the last report of such a target, they would be
// witnesses that the object is there. The lock must be held.
func (d *Delivery) tellable(g *group) (out []string) {
	for _, name := range g.regained {
		told := true
		g.members(func(o *object) bool {
			if derives(o) && !o.undecided && o.note.has(name) && !d.effective(o).has(name) {
				d.notes.Add(o.key())
				told = false
			}
			return true
		})
		if told {
			out = append(out, name)
		}
	}
	return out
}

// undecidedTime is how long a namespace waits for its objects: one that cannot be written must not
// hold it for ever.
const undecidedTime = 10 * time.Second

// undecided is an object of a namespace whose wish has come or gone and of which nothing that is
// stored says yet where it is: after a restart that is found out by where the namespace is and what
// it has left, which must not change before. The lock must be held.
func (d *Delivery) undecided(g *group) *store.Key {
	for _, o := range g.ns.objects {
		if !o.present || o.leaving || o.finished || o.source == nil {
			continue
		}
		follows := o.source == g && o.undecided
		if !follows && (o.source.kind != ofObject || !o.source.stale) {
			continue
		}
		if g.waits.IsZero() {
			g.waits = time.Now()
		}
		if time.Since(g.waits) > undecidedTime {
			return nil
		}
		if follows {
			d.notes.Add(o.key())
		}
		k := o.key()
		return &k
	}
	g.waits = time.Time{}
	return nil
}

// holder fills in the object that holds the group's record; it is false when that is going away.
func (d *Delivery) holder(p *plan) bool {
	g := p.group
	switch g.kind {
	case ofNamespace:
		o := g.ns.self
		p.apiVersion, p.kindName, p.uid, p.conditions = "v1", "Namespace", o.uid, g.ns.state
		p.version = strconv.FormatInt(o.revision, 10)
		return !o.leaving
	case ofPlacement:
		b := g.book
		p.apiVersion, p.kindName = v1alpha1.GroupVersion.String(), "Placement"
		p.uid, p.generation, p.problem = b.uid, b.generation, b.problem
		p.version, p.status = strconv.FormatInt(b.revision, 10), b.status
		return true
	default:
		o := g.object
		p.apiVersion, p.kindName, p.uid, p.generation = o.kind.apiVersion, o.kind.name, o.uid, o.generation
		p.version = strconv.FormatInt(o.revision, 10)
		return !o.leaving
	}
}

// inquire notes what must be known of the members: volumes where they are, arrival where they are
// wanted.
func (d *Delivery) inquire(p *plan, current *set) {
	p.group.members(func(o *object) bool {
		q := question{key: o.key(), demand: o.demand(), targets: current.list(), unsent: d.unsent(o)}
		if o.kind.resource == "persistentvolumeclaims" || (o.work != nil && o.work.templates) {
			p.volumes = append(p.volumes, q)
		}
		p.asked = append(p.asked, q)
		return true
	})
	sort.Slice(p.asked, func(i, j int) bool { return p.asked[i].key.Encode() < p.asked[j].key.Encode() })
}

// conflict names an object that the Placement selects and another one of the same priority has.
func (g *group) conflict() string {
	found := ""
	visit := func(o *object) {
		if found != "" || !o.present || o.source == nil || o.source == g || o.source.kind != ofPlacement ||
			g.book.rule == nil {
			return
		}
		other := o.source.book
		if other.rule != nil && other.rule.Priority == g.book.rule.Priority && g.book.rule.Matches(o.subject()) {
			found = fmt.Sprintf(
				"%s/%s is selected by the older Placement %q too, which has it; give one of them another priority",
				o.kind.resource,
				o.name,
				other.name,
			)
		}
	}
	if len(g.space.rules) > 1 {
		g.space.eachObject(visit)
	}
	return found
}

// Reported tells that a target has reported something new about some objects. It wakes the groups
// that wait for it.
func (d *Delivery) Reported(target string, keys []store.Key) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, k := range keys {
		o := d.find(k)
		if d.doubts.of(target, k) > 0 && (o == nil || !d.shows(target, o)) {
			d.doubts.drop(target, k)
		}
		if o == nil {
			continue
		}
		if d.holds[o] != nil {
			d.groups.Add(ref{kind: ofHold, key: k})
		}
		if o.source == nil {
			continue
		}
		if o.source.moving {
			d.enqueue(o.source)
		}
		if o.source.kind == ofPlacement {
			d.status.AddAfter(placementKey(o.ns.space.name, o.source.book.name), countDelay)
		}
	}
}
