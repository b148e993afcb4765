package delivery

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/volumes"
	"skerry.dev/skerry/store"
)

// A unit whose volumes are replicated has a standby on another target: their claims, with what they held at the last
// round, and nothing that runs. What it needs is decided here, at each look at the unit; the rounds are made by
// Volumes.

// standbys are the units that have one.
type standbys struct {
	mu     sync.Mutex
	wanted map[binding.UnitID]*volumes.Replica
	units  map[catalog.Ref]binding.UnitID
	said   map[catalog.Ref]map[store.Key]*saidOf
	last   map[binding.UnitID]map[string]time.Time // the last whole round of each claim
}

// saidOf is what was said of the standbys of an object: its own, or those of the claims that its templates make.
type saidOf struct {
	lines map[string]string
	bad   map[string]string // the reasons of claims that have no standby as they should
	said  placement.Condition
}

func newStandbys() *standbys {
	return &standbys{wanted: map[binding.UnitID]*volumes.Replica{}, units: map[catalog.Ref]binding.UnitID{},
		said: map[catalog.Ref]map[store.Key]*saidOf{}, last: map[binding.UnitID]map[string]time.Time{}}
}

// wants reports whether the mover of a mark is needed now.
func (s *standbys) wants(mark volumes.Mark) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := s.wanted[mark.Unit]
	return is != nil && is.Pair() == [2]string{mark.From, mark.To}
}

// Reasons of the condition Replicated.
const (
	replicated    = "Replicated"
	notReplicated = "NotReplicated"
	noRoundYet    = "NoRoundYet"
	roundFailed   = "RoundFailed"
	sourceAway    = "SourceAway"
	standbyTooOld = "StandbyTooOld"
)

// replicaLook is how often a unit is looked at that is to have a standby and can have none.
const replicaLook = time.Minute

// replicate has a unit have the standby that it is to have in its next state.
func replicate(ctx context.Context, d *Delivery, p *plan, next binding.Record) {
	how, wished := p.replication()
	if !wished && p.look.settles == nil {
		d.standbys.keep(ctx, d, p, nil, nil)
		d.standbys.tell(d, p, "")
		return
	}
	is, why := p.look.settles, ""
	if is == nil && len(p.look.moves.claims) > 0 && p.look.moves.move == nil && next.Settled() {
		is, why = replicaOf(d, p, how, next)
	}
	if why != "" {
		d.catalog.Groups.AddAfter(p.ref, replicaLook)
	}
	d.standbys.keep(ctx, d, p, is, p.look.fenced.certain(d))
	d.standbys.tell(d, p, why)
}

// replication is what is wished of the standby of a unit.
func (p *plan) replication() (*v1alpha1.VolumeReplication, bool) {
	if p.look == nil || !p.look.replicates {
		return nil, false
	}
	return p.look.replication, true
}

const howToReplicate = `say where the standby is, how often it is made like the volume, and that it is fuzzy: in ` +
	`spec.move.volumeReplication of the Placement, or on the Namespace ` +
	`skerry.dev/volume-replication={"target":"SITE","every":"15m","consistency":"Fuzzy"}`

// replicaOf is the standby that a unit is to have, or why it has none.
func replicaOf(
	d *Delivery, p *plan, how *v1alpha1.VolumeReplication, next binding.Record,
) (is *volumes.Replica, why string) {
	l := p.look
	switch {
	case d.cfg.Volumes == nil:
		return nil, "this center has no image to do that with: its admin names one with --mover-image"
	case how == nil:
		return nil, howToReplicate
	case how.Consistency == "":
		return nil, "files are copied one after the other while they are written: a database may not be able to begin on " +
			"that. Who accepts it says consistency: Fuzzy; to have one moment for all files there is no way yet"
	case len(next.Places) != 1:
		return nil, fmt.Sprintf("what is on %d targets has no standby", len(next.Places))
	}
	for _, c := range l.moves.claims {
		switch {
		case c.other != "":
			return nil, c.other + " mounts " + c.text() + ", too, and is not with it"
		case c.User.Name == "":
			return nil, c.text() + " is mounted by nothing, so nobody knows who may read it"
		case c.uncommon.Block != "":
			return nil, c.block()
		case c.uncommon.OnePod != "":
			return nil, c.asks(c.uncommon.OnePod) + " is for one Pod alone (ReadWriteOncePod), so nothing can copy it while " +
				"the app runs: for a standby it takes a claim with ReadWriteOnce. A move copies it, while the app stands still"
		}
	}
	d.catalog.Lock()
	defer d.catalog.Unlock()
	from := d.catalog.Records.Targets.Of(next.Places[0].Target)
	to, why := standbyTarget(d, p, how, from.Name)
	if why != "" {
		return nil, why
	}
	is = &volumes.Replica{Every: volumes.Every(how), MaxAge: volumes.MaxAge(how),
		Move: volumes.Move{Space: l.space, Unit: p.unit, From: from.Name, FromUID: from.UID, To: to.Name, ToUID: to.UID,
			Standby: true}}
	for _, c := range l.moves.claims {
		is.Claims = append(is.Claims, c.Claim)
	}
	sortClaims(is.Claims)
	if name := keepsFormer(d.catalog, p.unit, to.UID); name != "" {
		return nil, fmt.Sprintf("%s keeps what %s held there before: look at it with skerry volume list, and give it up "+
			"with skerry volume forget", to.Name, name)
	}
	return is, ""
}

func sortClaims(claims []volumes.Claim) {
	slices.SortFunc(claims, func(a, b volumes.Claim) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
}

// standbyTarget is the target that is to have the standby of a unit which is on another one. The lock must be held.
func standbyTarget(
	d *Delivery, p *plan, how *v1alpha1.VolumeReplication, from string,
) (to *catalog.Target, why string) {
	if how.Target == from {
		return nil, "it is on " + from + " itself, which is to have the standby: name another one to have one again"
	}
	world := d.catalog.WorldOf(p.group)
	world.Targets = slices.DeleteFunc(world.Targets, func(t placement.Target) bool { return t.Name == from })
	var has []string // one stays where it is
	d.catalog.Movers.Of(p.unit, func(o *catalog.Object) {
		for _, t := range world.Targets {
			if m := o.Mover(); m.Side == volumes.SideStandby && d.catalog.Targets[t.Name].UID == m.To {
				has = []string{t.Name}
			}
		}
	})
	choice := placement.Choose(placement.Wish{Names: []string{how.Target}, Count: 1}, world, has)
	if len(choice.Targets) == 0 {
		return nil, choice.Message
	}
	name := choice.Targets[0]
	if p.group.Kind == catalog.OfPlacement && !slices.ContainsFunc(p.group.Wish().Fits(world),
		func(t placement.Target) bool { return t.Name == name }) {
		return nil, "the Placement does not allow " + name + ", so nothing could begin there"
	}
	if t := metered(d.catalog, from, name); t != "" && !how.OverMeteredLinks {
		return nil, "the link of " + t + " is metered: set overMeteredLinks: true if the bytes may be paid for"
	}
	return d.catalog.Targets[name], ""
}

// keepsFormer names a claim that a target keeps of a unit since that was lost there, empty for none. The lock must be
// held.
func keepsFormer(c *catalog.Catalog, unit binding.UnitID, uid string) (claim string) {
	c.Movers.Of(unit, func(o *catalog.Object) {
		if m := o.Mover(); m.Side == volumes.SideSource && m.From == uid {
			claim = m.Claim
		}
	})
	return claim
}

// certain is what is known of a target that is away and has something of a unit.
func (f fenced) certain(d *Delivery) func(t *catalog.Target) placement.Absence {
	return func(t *catalog.Target) placement.Absence { return d.absent(t.Name, f) }
}

// keep has a unit have a standby, and nothing else; nil ends it.
func (s *standbys) keep(ctx context.Context, d *Delivery, p *plan, is *volumes.Replica,
	absent func(t *catalog.Target) placement.Absence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.cfg.Volumes == nil || is == nil && s.wanted[p.unit] == nil {
		return
	}
	if s.wanted[p.unit], s.units[p.ref] = is, p.unit; is == nil {
		delete(s.wanted, p.unit)
		delete(s.units, p.ref)
		delete(s.last, p.unit)
		d.cfg.Volumes.Replicate(ctx, p.unit, nil, volumes.Word{})
		return
	}
	ref, unit, of := p.ref, p.unit, *is
	d.cfg.Volumes.Replicate(ctx, unit, is, volumes.Word{
		Ends: func() (*volumes.Lost, string) { return ends(d, &of.Move, absent) },
		Say:  func(c volumes.Claim, b volumes.Standby) { s.says(d, ref, unit, c, b) },
	})
}

// forget ends what is replicated for a group that is gone.
func (s *standbys) forget(d *Delivery, r catalog.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if unit, known := s.units[r]; known {
		delete(s.wanted, unit)
		delete(s.units, r)
		delete(s.last, unit)
		d.cfg.Volumes.Replicate(context.Background(), unit, nil, volumes.Word{})
	}
	delete(s.said, r)
}

// ends says which end of a copy is away.
func ends(d *Delivery, m *volumes.Move, absent func(*catalog.Target) placement.Absence) (*volumes.Lost, string) {
	d.catalog.RLock()
	defer d.catalog.RUnlock()
	var lost *volumes.Lost
	if t := d.catalog.Targets[m.From]; t != nil && !t.Connected {
		a := absent(t)
		lost = &volumes.Lost{Since: t.AwaySince.UTC().Truncate(time.Second), Certain: a.Certain, Why: a.Message}
	}
	if t := d.catalog.Targets[m.To]; t == nil || !t.Connected {
		return lost, m.To
	}
	return lost, ""
}

// says takes over what is said of the standby of a claim, and tells.
func (s *standbys) says(d *Delivery, r catalog.Ref, unit binding.UnitID, c volumes.Claim, b volumes.Standby) {
	reason := replicated
	switch {
	case b.Lost != nil:
		reason = sourceAway
		if _, old := b.TooOld(b.Lost.Since); old {
			reason = standbyTooOld
		}
	case b.Last == nil:
		reason = noRoundYet
	case b.Problem != "":
		reason = roundFailed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wanted[unit] == nil {
		return
	}
	if s.last[unit] == nil {
		s.last[unit] = map[string]time.Time{}
	}
	if b.Last != nil {
		s.last[unit][c.Namespace+"/"+c.Name] = b.Last.At
	}
	k := store.Key{Space: s.wanted[unit].Space, Resource: "persistentvolumeclaims", Namespace: c.Namespace, Name: c.Name}
	if c.Made != nil {
		k = c.User
	}
	s.line(d, r, k, c.Name, reason, b.Says())
}

// line takes over one line of what is said of an object. The lock must be held.
func (s *standbys) line(d *Delivery, r catalog.Ref, k store.Key, claim, reason, text string) {
	if s.said[r] == nil {
		s.said[r] = map[store.Key]*saidOf{}
	}
	o := s.said[r][k]
	if o == nil {
		o = &saidOf{lines: map[string]string{}, bad: map[string]string{}}
		s.said[r][k] = o
	}
	if claim != "" { // it has one now
		delete(o.lines, "")
		delete(o.bad, "")
	}
	o.lines[claim] = text
	if delete(o.bad, claim); reason != replicated {
		o.bad[claim] = reason
	}
	c := placement.Condition{Type: v1alpha1.ConditionReplicated, Status: true, Reason: replicated}
	if len(o.bad) > 0 {
		c.Status, c.Reason = false, slices.Min(slices.Collect(maps.Values(o.bad)))
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(o.lines)) {
		text := o.lines[name]
		if len(o.lines) > 1 {
			text = name + ": " + text
		}
		parts = append(parts, text)
	}
	c.Message = strings.Join(parts, ". ")
	if c != o.said {
		o.said = c
		d.cfg.Condition(k, c)
	}
}

// tell says on each claim of a unit why it has no standby, or, where that is nothing and none is wished, nothing.
func (s *standbys) tell(d *Delivery, p *plan, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, wished := p.replication()
	if !wished && s.wanted[p.unit] == nil {
		for k := range s.said[p.ref] {
			d.cfg.Condition(k, placement.Condition{Type: v1alpha1.ConditionReplicated})
		}
		delete(s.said, p.ref)
		return
	}
	if why == "" {
		return
	}
	for _, c := range p.look.moves.claims {
		if o := s.said[p.ref][c.key]; o != nil {
			clear(o.lines)
			clear(o.bad)
		}
		s.line(d, p.ref, c.key, "", notReplicated, "not replicated: "+why)
	}
}

// StandbysOf is how many claims have a standby, and when the oldest last round of one was begun; zero for none.
func StandbysOf(d *Delivery) (claims int, oldest time.Time) {
	d.standbys.mu.Lock()
	defer d.standbys.mu.Unlock()
	for _, of := range d.standbys.last {
		for _, at := range of {
			if claims++; oldest.IsZero() || at.Before(oldest) {
				oldest = at
			}
		}
	}
	return claims, oldest
}
