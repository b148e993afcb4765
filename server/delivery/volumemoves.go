package delivery

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/volumes"
	"skerry.dev/skerry/store"
)

// A unit with volumes moves by a copy of what they hold, where that is wished. The record says that its old
// target was left for that (binding.Place.Copying), and holds everything else: nothing here decides. What copies is
// asked how far it is, and told what is needed.

// Volumes copies volumes, see volumes/copier. Its methods must not block.
type Volumes interface {
	// Keep has what a unit needs be copied until ctx ends, and nothing else for it; nil ends it. It calls wake when the
	// state is another one.
	Keep(ctx context.Context, unit binding.UnitID, m *volumes.Move, wake func())
	// State is how far the copy of a move is.
	State(m *volumes.Move) volumes.State
	// Wait returns when nothing is copied any more; the contexts of Keep are done.
	Wait()
	// Replicate has a unit have a standby until ctx ends, or makes the one that it has ready to begin on, and nothing
	// else for it; nil ends it.
	Replicate(ctx context.Context, unit binding.UnitID, r *volumes.Replica, word volumes.Word)
}

// volumeMove is what a look finds about the volumes of a record.
type volumeMove struct {
	wished bool // what they hold is to move
	mayPay bool // also over a link that is metered
	claims []claimAt
	// move is what is to be copied, nil for nothing, and state how far that is. why says why nothing is copied
	// although that is wished.
	move     *volumes.Move
	from, to binding.TargetID
	state    volumes.State
	why      string
}

// staysFor reports whether a target has a claim for others than the record.
func (v *volumeMove) staysFor(target string, q question) bool {
	return q.claim && slices.ContainsFunc(v.claims, func(c claimAt) bool { return c.key == q.key && c.feeds.Has(target) })
}

// wayOut says what to do where volumes keep a record where it is.
func (l *look) wayOut() string {
	const cannot = "what it holds cannot be copied: "
	switch {
	case l.moves.why != "":
		return cannot + l.moves.why
	case l.moves.wished && l.facts.Suspended:
		return cannot + "the Placement is suspended (spec.suspend)"
	case l.moves.wished:
		return cannot + fmt.Sprintf("that is done in a move from one target to one other, and this is on %d and wanted on %d",
			len(l.record.Places), len(l.facts.Wanted))
	}
	return "to have what it holds copied set the annotation skerry.dev/volumes=Move of the Namespace, or " +
		"spec.move.volumes of the Placement that decides"
}

// ask finds out whether the volumes of a record are copied now: its only target becomes another one. No lock is
// held.
func (m *volumeMoves) ask(l *look) {
	v, f := &l.moves, &l.facts
	if v.wished && m.volumes == nil {
		v.why = "this center has no image to do that with: its admin names one with --mover-image"
		return
	}
	if !v.wished || f.Suspended || f.Wish != binding.Somewhere || len(f.Wanted) != 1 || len(l.record.Places) != 1 ||
		l.of.Cohort != 0 {
		return
	}
	at := l.record.Places[0]
	v.from, v.to = at.Target, f.Wanted[0]
	if v.from == v.to || at.Off && !at.Copying {
		return
	}
	has := slices.DeleteFunc(slices.Clone(v.claims), func(c claimAt) bool {
		// What was left has no StatefulSet any more, but what its templates have made.
		return !(c.Templates && at.Off) && !slices.Contains(l.volumes[v.from], c.key)
	})
	switch {
	case len(has) == 0, len(l.begun[v.from]) > 0:
		return
	}
	move := &volumes.Move{Space: l.space, Unit: l.of.Unit, From: l.names[v.from], To: l.names[v.to],
		Within: time.Duration(f.Timeout) * time.Second}
	for _, c := range has {
		if c.other != "" {
			v.why = c.other + " mounts " + c.text() + ", too, and does not move along"
			return
		}
		if c.User.Name == "" {
			v.why = c.text() + " is mounted by nothing, so nobody knows who may read it"
			return
		}
		if v.why = c.block(); v.why != "" {
			return
		}
		move.Claims = append(move.Claims, c.Claim)
	}
	sortClaims(move.Claims)
	if move.FromUID, v.why = m.end(l, v.from); v.why != "" {
		return
	}
	if move.ToUID, v.why = m.end(l, v.to); v.why != "" {
		return
	}
	m.catalog.RLock()
	former := keepsFormer(m.catalog, l.of.Unit, move.ToUID)
	costs := metered(m.catalog, move.To, move.From)
	m.catalog.RUnlock()
	if costs != "" && !v.mayPay && !at.Off {
		v.why = "the link of " + costs + " is metered: have a Placement with spec.move.volumesOverMeteredLinks: true " +
			"decide if the bytes may be paid for"
		return
	}
	if former != "" {
		v.why = fmt.Sprintf("%s keeps what %s held there when it was lost: look at it with skerry volume list, and give it "+
			"up with skerry volume forget", move.To, former)
		return
	}
	v.move, f.Copies, f.BreakFirst = move, true, true
	l.target(v.from).Pinned = false
}

// metered is the first of some targets whose link is paid for by the byte, empty for none. The lock must be held.
func metered(c *catalog.Catalog, targets ...string) string {
	for _, name := range targets {
		if t := c.Targets[name]; t != nil && t.Metered {
			return name
		}
	}
	return ""
}

// target is what is known of a target, nil where it does not exist.
func (l *look) target(t binding.TargetID) *binding.Target {
	i := slices.IndexFunc(l.facts.Targets, func(known binding.Target) bool { return known.ID == t })
	if i < 0 {
		return nil
	}
	return &l.facts.Targets[i]
}

// copied takes over how far the copy is.
func (m *volumeMoves) copied(l *look) {
	v := &l.moves
	if v.move == nil {
		return
	}
	if l.target(v.from).State == binding.Absent && l.record.Places[0].Off {
		v.move.Left = l.record.Generation
	}
	v.state = m.volumes.State(v.move)
	l.target(v.to).Copied = v.state.Copied
	if l.notReady[v.to] == "" && v.state.Text != "" {
		l.notReady[v.to] = v.state.Text
	}
}

// end returns the UID of a target that is one end of a copy, and why it cannot be one, empty where it can.
func (m *volumeMoves) end(l *look, t binding.TargetID) (uid, why string) {
	m.catalog.RLock()
	defer m.catalog.RUnlock()
	is := m.catalog.Records.Targets.Of(t)
	if known := l.target(t); known == nil || known.Away {
		return is.UID, l.names[t] + " is away"
	}
	return is.UID, ""
}

// copyWords say what a copy does, empty where none is under way.
func (l *look) copyWords(next binding.Record) string {
	v := &l.moves
	if v.move == nil || len(next.Places) != 1 || next.Places[0].Target != v.from || len(next.GaveUp) > 0 {
		return ""
	}
	var names []string
	for _, c := range v.move.Claims {
		names = append(names, c.Name)
	}
	text := fmt.Sprintf("%s from %s to %s", strings.Join(names, ", "), v.move.From, v.move.To)
	state := ""
	if v.state.Text != "" {
		state = ": " + v.state.Text
	}
	if p := next.Places[0]; p.Off {
		return fmt.Sprintf("the last round of %s, while nothing runs%s. At %s it returns to %s if that has not ended",
			text, state, time.Unix(int64(p.Since)+l.facts.Timeout, 0).UTC().Format(time.RFC3339), v.move.From)
	}
	return fmt.Sprintf("copies %s, where all runs meanwhile%s", text, state)
}

// volumeMoves are the moves whose volumes are copied, by unit.
type volumeMoves struct {
	volumes  Volumes
	standbys *standbys
	catalog  *catalog.Catalog
	api      API
	progress func(target string, k store.Key) (placement.Progress, bool) // what a target reports
	said     copySaid

	mu     sync.Mutex
	wanted map[binding.UnitID]*volumes.Move
	units  map[catalog.Ref]binding.UnitID
}

func newVolumeMoves(v Volumes, c *catalog.Catalog, api API,
	progress func(target string, k store.Key) (placement.Progress, bool)) *volumeMoves {
	return &volumeMoves{volumes: v, standbys: newStandbys(), catalog: c, api: api, progress: progress, said: copySaid{},
		wanted: map[binding.UnitID]*volumes.Move{}, units: map[catalog.Ref]binding.UnitID{}}
}

// keep has a move's volumes copied, and nothing else for the unit; nil ends it.
func (m *volumeMoves) keep(ctx context.Context, r catalog.Ref, unit binding.UnitID, is *volumes.Move) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if is == nil && m.wanted[unit] == nil {
		return
	}
	if m.wanted[unit], m.units[r] = is, unit; is == nil {
		delete(m.wanted, unit)
		delete(m.units, r)
	}
	m.volumes.Keep(ctx, unit, is, func() { m.catalog.Groups.Add(r) })
}

// forget ends what is copied for a group that is gone.
func (m *volumeMoves) forget(r catalog.Ref) {
	m.mu.Lock()
	unit, known := m.units[r]
	m.mu.Unlock()
	if known {
		m.keep(context.Background(), r, unit, nil)
	}
}

// wants reports whether the mover of a mark is needed now.
func (m *volumeMoves) wants(mark volumes.Mark) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	is := m.wanted[mark.Unit]
	return is != nil && is.Pair() == [2]string{mark.From, mark.To}
}

// run has copied what the next state of a record waits for, and looks at the movers of the unit.
func (m *volumeMoves) run(ctx context.Context, p *plan, next binding.Record) {
	if m.volumes == nil {
		return
	}
	move := p.look.moves.move
	if len(next.Places) != 1 || next.Places[0].Target != p.look.moves.from || len(next.GaveUp) > 0 {
		move = nil
	}
	m.keep(ctx, p.ref, p.unit, move)
	m.catalog.RLock()
	defer m.catalog.RUnlock()
	m.catalog.Movers.Of(p.unit, func(o *catalog.Object) { m.catalog.HookJobs.Add(o.Key()) })
}

// choose places a mover at its target, whatever speaks against new objects there, while it is wanted, and leaves one
// that is there alone: tidy ends it. The lock must be held.
func (m *volumeMoves) choose(p *plan, mover *catalog.Mover, current []string) {
	uid := mover.To
	if mover.Side.Reads() {
		uid = mover.From
	}
	for name, t := range m.catalog.Targets {
		if t.UID == uid && (m.wants(mover.Mark) || m.standbys.wants(mover.Mark) || slices.Contains(current, name)) {
			p.choice = placement.Choice{Targets: []string{name}}
			return
		}
	}
	p.none = true
}

// moverLook is how often a mover is looked at that nothing wakes for.
const moverLook = time.Minute

// tidy ends a mover that nothing needs any more. The lock is held, and released.
//
// The mover at the target that was left has the only whole copy until the unit has begun elsewhere: it stays
// while the record says that this target was left for a copy. After that it keeps the old volume for a while. The
// target takes that volume away with a mover which it has seen keep one, and with no other: so one that ends where
// the unit has its volume keeps none before.
func (m *volumeMoves) tidy(ctx context.Context, o *catalog.Object) error {
	mover, k, uid, apiVersion := o.Mover(), o.Key(), o.UID, o.Kind.ApiVersion
	b, _ := m.catalog.Records.Index.Binding(mover.Unit)
	at := mover.From
	if mover.Side == volumes.SideTo {
		at = mover.To
	}
	copying, holds := false, false
	for _, p := range b.Places {
		is := m.catalog.Records.Targets.Of(p.Target).UID
		copying = copying || is == mover.From && p.Off && p.Copying
		holds = holds || is == at && (!p.Off || mover.Side == volumes.SideTo) // what is left has the only whole copy
	}
	keeps, unseen := m.keeping(o, at)
	m.catalog.Unlock()
	now := time.Now()
	again := func(after time.Duration) error {
		m.catalog.HookJobs.AddAfter(k, after)
		return nil
	}
	patch := func(with []byte, after time.Duration) error {
		if _, err := m.api.Patch(ctx, k, apiVersion, "", with); err != nil {
			return unlessGone(fmt.Errorf("end the mover of a volume: %w", err))
		}
		return again(after)
	}
	has := holds || m.comes(mover.Unit, at)
	switch {
	case m.wants(mover.Mark), copying:
		return again(moverLook)
	case has && !mover.Until.IsZero():
		return patch(volumes.KeepsNot(), seenLook)
	case has && !holds, !holds && mover.Side == volumes.SideFrom && !b.Settled():
		return again(moverLook)
	case !holds && mover.Until.IsZero():
		return patch(volumes.Keeper(now.Add(keeps)), max(keeps, seenLook))
	case !holds && keeps > 0 && now.Before(mover.Until):
		return again(min(mover.Until.Sub(now), time.Hour) + time.Second)
	}
	if after := unseen(); after > 0 {
		return again(after)
	}
	if err := m.api.Delete(ctx, k, apiVersion, uid); err != nil {
		return unlessGone(fmt.Errorf("delete the mover of a volume: %w", err))
	}
	return nil
}

// seenLook is how often it is looked whether a target that has a session has seen what a mover is now.
const seenLook = 2 * time.Second

// keeping is how long a mover keeps its volume at a target that the unit has left. Unseen is after how long to look
// again whether that target has what the mover is now; 0 when it has, refuses it, or is not to have it. The lock must
// be held, and not when unseen is called.
func (m *volumeMoves) keeping(o *catalog.Object, uid string) (keeps time.Duration, unseen func() time.Duration) {
	mover, k, demand := o.Mover(), o.Key(), o.Demand()
	if mover.Side == volumes.SideFrom {
		var holder *catalog.Group
		if r, ok := m.catalog.OwnerOf(k.Space, binding.Ref{Unit: mover.Unit}); ok {
			holder = m.catalog.Group(r)
		}
		keeps = holder.KeepsVolumes()
	}
	name, after := "", moverLook
	for _, t := range m.catalog.Targets {
		if t.UID != uid {
			continue
		}
		if m.catalog.Feeds(o).Has(t.Name) {
			name = t.Name
		}
		if t.Connected {
			after = seenLook
		}
		if t.Drained() || t.Removing || t.Emptied {
			keeps = 0
		}
	}
	return keeps, func() time.Duration {
		p, _ := m.progress(name, k)
		if name == "" || p.UID == demand.UID && (p.Applied == demand.Hash || p.Refused != nil) {
			return 0
		}
		return after
	}
}

// comes reports whether a unit's volumes are copied to a target now.
func (m *volumeMoves) comes(unit binding.UnitID, uid string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	is := m.wanted[unit]
	return is != nil && is.ToUID == uid
}
