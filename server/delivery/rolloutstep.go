package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/rollout"
	"skerry.dev/skerry/server/scheduler"
	"skerry.dev/skerry/store"
)

// stepRollout makes a release when the content is another, records the next step of a rollout, and says
// how far it is. One goroutine calls it.
func (d *Delivery) stepRollout(ctx context.Context, ref catalog.UnitRef) error {
	id := ref.Unit
	d.catalog.Lock()
	r := d.catalog.Rollouts[id]
	g := d.catalog.ProgressiveGroup(ref)
	if g == nil {
		d.catalog.Unlock()
		return d.forgetRollouts(ctx, r)
	}
	if !g.Space.Known || d.catalog.Records.Units[id] == nil || d.catalog.Records.Units[id].Revision == 0 {
		d.catalog.Unlock()
		return nil // it is decided first where the objects are
	}
	r = d.catalog.Rollouts.Of(g.Space.Name, id)
	r.Of = catalog.UnitOf(g.Ref().Key)
	objects := d.catalog.ContentOf(g, r)
	sum, now := rollout.Sum(objects), time.Now()
	fresh := r.State.Empty() && len(objects) > 0 || !r.State.Empty() && r.State.Newest().Digest != sum
	wait := time.Duration(0)
	if fresh {
		if r.Pending.IsZero() {
			r.Touch()
		}
		wait = r.Rests(now, catalog.SettleTime)
	} else {
		r.Pending = time.Time{}
	}
	rendered := !slices.ContainsFunc(objects, func(o rollout.Object) bool { return o.Digest == 0 })
	d.catalog.Unlock()
	switch {
	case fresh && (wait > 0 || !rendered):
		d.catalog.Rolls.AddAfter(ref, max(wait, 100*time.Millisecond))
	case fresh:
		switch err := d.release(ctx, g, r, objects, sum); {
		case errors.Is(err, errNotYet):
			d.catalog.Rolls.AddAfter(ref, catalog.SettleTime)
		case errors.Is(err, rollout.ErrTooLarge):
			r.SetProblem(d.catalog, err.Error())
		case err != nil:
			return err
		}
	}
	if err := d.stepTargets(ctx, g, r); err != nil {
		return err
	}
	return d.dropReleases(ctx, r)
}

// release makes a release of the content, if that is still the same when all of it has been read.
func (d *Delivery) release(
	ctx context.Context, g *catalog.Group, r *catalog.Rolled, objects []rollout.Object, sum uint64,
) error {
	d.catalog.RLock()
	state, revision := r.State, r.Revision
	d.catalog.RUnlock()
	if revision != 0 && state.Era != d.era {
		// No leader from before can write this state any more, so that no release is listed but those that
		// this one makes.
		if err := d.putRollout(ctx, r, state); err != nil {
			return err
		}
		d.catalog.RLock()
		state = r.State
		d.catalog.RUnlock()
	}
	for i := range objects {
		o := &objects[i]
		body, generation, err := d.Rendered(ctx, o.Key)
		if err != nil {
			return fmt.Errorf("make a release of %s: %w: %w", o.Key, errNotYet, err)
		}
		o.Body, o.Generation = body, generation
	}
	d.catalog.RLock()
	same := rollout.Sum(d.catalog.ContentOf(g, r)) == sum
	same = same && !slices.ContainsFunc(objects, func(o rollout.Object) bool {
		is := d.catalog.Find(o.Key)
		return is == nil || is.Hash != store.HashBody(o.Generation, o.Body)
	})
	d.catalog.RUnlock()
	if !same {
		return fmt.Errorf("make a release of %s: %w", g.Book.Name, errNotYet)
	}
	packed, err := rollout.Content{Objects: objects}.Pack()
	if err != nil {
		return err
	}
	next := state.Add(sum, len(objects), time.Now().Unix())
	number := next.Newest().Number
	d.catalog.RLock()
	was := int64(0)
	if left := r.Releases[number]; left != nil {
		was = left.Revision // of a leader that ended before the state named it
	}
	d.catalog.RUnlock()
	value, err := scheduler.EncodeRelease(r.Unit, r.Of, number, packed, len(objects))
	if err != nil {
		return err
	}
	if err := d.write(ctx, scheduler.ReleaseKey(r.Space, r.Unit, number), value, was); err != nil {
		return err
	}
	// gofail: var releaseBeforeState struct{}
	d.cfg.Log.Info("release", "of", r.Of.Name, "space", r.Space, "number", number, "objects", len(objects),
		"bytes", len(packed), "proven", next.Newest().Proven)
	r.SetProblem(d.catalog, "")
	return d.putRollout(ctx, r, next)
}

// putRollout records a state.
func (d *Delivery) putRollout(ctx context.Context, r *catalog.Rolled, s rollout.State) error {
	s.Era = d.era
	value, err := scheduler.EncodeRollout(r.Unit, r.Of, s)
	if err != nil {
		return err
	}
	d.catalog.RLock()
	was := r.Revision
	d.catalog.RUnlock()
	return d.write(ctx, scheduler.RolloutKey(r.Space, r.Unit), value, was)
}

// stepTargets records which targets have which release.
func (d *Delivery) stepTargets(ctx context.Context, g *catalog.Group, r *catalog.Rolled) error {
	d.catalog.Lock()
	if r.State.Empty() {
		d.catalog.Unlock()
		return nil
	}
	now := time.Now()
	state, policy := r.State, g.Book.Rollout
	facts := rollout.Facts{Now: now.Unix(), Policy: policy, Targets: d.rolloutTargets(g, r, now.Unix())}
	asked := d.askedOf(g, r)
	d.catalog.Unlock()
	d.judge(r, state, facts.Targets, asked, now.Unix())
	next, view := rollout.Next(state, facts)
	if rescaled, err := d.rescale(ctx, r, next); rescaled || err != nil {
		return err
	}
	if !next.Equal(state) {
		// gofail: var beforeRolloutStep struct{}
		if err := d.putRollout(ctx, r, next); err != nil {
			return err
		}
		d.cfg.Log.Info("rollout", "of", r.Of.Name, "space", r.Space, "phase", string(view.Phase), "release", view.Goal,
			"updated", len(view.Updated), "done", len(view.Done), "failed", len(view.Failed))
		d.catalog.Rolls.Add(r.Ref()) // who is well with what was given now is another question
	}
	if view.Wake != 0 {
		d.catalog.Rolls.AddAfter(r.Ref(), max(time.Until(time.Unix(view.Wake, 0)), 100*time.Millisecond))
	}
	return d.showRollout(ctx, g, r, next, view, len(facts.Targets))
}

// rolloutTargets are the targets of a group as far as the catalog knows them. The lock must be held.
func (d *Delivery) rolloutTargets(g *catalog.Group, r *catalog.Rolled, now int64) (out []rollout.Fact) {
	b, _ := d.catalog.Records.Index.Binding(r.Unit)
	here := map[string]struct{}{}
	for _, id := range b.Here() {
		is := d.catalog.Records.Targets.Of(id)
		f := rollout.Fact{UID: is.UID, Name: is.Name}
		if t := d.catalog.Targets[is.Name]; t != nil && t.UID == is.UID {
			f.Online, f.Held = t.Connected, t.Held
			if by := g.Book.Rollout.GroupBy; by != "" {
				f.Group = t.Labels[by]
			}
		}
		here[f.UID] = struct{}{}
		if !f.Online {
			delete(r.Online, f.UID)
		} else if r.Online[f.UID] == 0 {
			r.Online[f.UID] = now
		}
		f.OnlineSince = r.Online[f.UID]
		out = append(out, f)
	}
	for _, since := range []map[string]int64{r.Well, r.Online} {
		for uid := range since {
			if _, is := here[uid]; !is {
				delete(since, uid)
			}
		}
	}
	return out
}

// askedOf are the questions whether targets are well with the releases that they were given. The lock must
// be held.
func (d *Delivery) askedOf(g *catalog.Group, r *catalog.Rolled) (out []question) {
	if !slices.ContainsFunc(r.State.Targets, func(t rollout.Target) bool { return !t.Done }) {
		return nil
	}
	g.Wished(func(o *catalog.Object) {
		if o.Releasable() && !o.Leaving && !d.catalog.OnlyAlong(o) {
			out = append(out, d.question(o))
		}
	})
	return out
}

// judge finds out who is well with what it was given. No lock is held.
func (d *Delivery) judge(r *catalog.Rolled, s rollout.State, targets []rollout.Fact, asked []question, now int64) {
	for i := range targets {
		f := &targets[i]
		release := s.Of(f.UID)
		at := slices.IndexFunc(s.Targets, func(t rollout.Target) bool { return t.UID == f.UID })
		if at < 0 || s.Targets[at].Done {
			delete(r.Well, f.UID)
			continue
		}
		well := f.Online && !slices.ContainsFunc(asked, func(q question) bool {
			if _, has := q.on(f.Name); !has {
				return d.has(f.Name, q)
			}
			why, _ := d.arrived(f.Name, "", q)
			return why != "" && !((q.single || q.last) && !d.has(f.Name, q))
		})
		if !well {
			delete(r.Well, f.UID)
			continue
		}
		if r.Well[f.UID] == 0 || r.WellWith[f.UID] != release {
			r.Well[f.UID], r.WellWith[f.UID] = now, release
		}
		f.Well, f.WellSince = true, r.Well[f.UID]
	}
}

// has reports whether a target says that it has an object.
func (d *Delivery) has(target string, q question) bool {
	p, ok := d.cfg.Progress(target, q.key)
	return ok && p.Applied != (store.Hash{})
}

// dropReleases deletes the contents that the state does not name any more.
func (d *Delivery) dropReleases(ctx context.Context, r *catalog.Rolled) error {
	d.catalog.RLock()
	old := map[uint64]int64{}
	if r.State.Era == d.era { // else a leader from before might name one yet
		for number, k := range r.Releases {
			if _, is := r.State.Release(number); !is {
				old[number] = k.Revision
			}
		}
	}
	d.catalog.RUnlock()
	for number, revision := range old {
		if err := d.write(ctx, scheduler.ReleaseKey(r.Space, r.Unit, number), nil, revision); err != nil {
			return err
		}
	}
	return nil
}

// forgetRollouts deletes the records of a Placement that is gone, or has no releases any more: the state
// first, so that no state names a release that is gone.
func (d *Delivery) forgetRollouts(ctx context.Context, r *catalog.Rolled) error {
	if r == nil {
		return nil
	}
	d.catalog.RLock()
	revision := r.Revision
	d.catalog.RUnlock()
	if revision != 0 {
		if err := d.write(ctx, scheduler.RolloutKey(r.Space, r.Unit), nil, revision); err != nil {
			return err
		}
	}
	d.catalog.RLock()
	old := map[uint64]int64{}
	for number, k := range r.Releases {
		old[number] = k.Revision
	}
	d.catalog.RUnlock()
	for number, revision := range old {
		if err := d.write(ctx, scheduler.ReleaseKey(r.Space, r.Unit, number), nil, revision); err != nil {
			return err
		}
	}
	d.catalog.Lock()
	defer d.catalog.Unlock()
	if r.Revision == 0 && len(r.Releases) == 0 && d.catalog.ProgressiveGroup(r.Ref()) == nil {
		delete(d.catalog.Rollouts, r.Unit)
	}
	return nil
}
