package desired

import (
	"maps"
	"strings"

	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/rollout"
	"skerry.dev/skerry/server/scheduler"
	"skerry.dev/skerry/store"
)

// rolloutRecord takes a write of a state, or of the content of a release.
func (s *step) rolloutRecord(w store.Write, id binding.UnitID, number uint64) {
	st := s.st
	r := st.catalog.Rollouts.Of(w.Key.Space, id)
	if w.Object == nil {
		if number != 0 {
			delete(r.Releases, number)
		} else {
			s.endRollouts(r)
		}
		if r.Revision == 0 && len(r.Releases) == 0 {
			delete(st.catalog.Rollouts, id)
		}
		return
	}
	var err error
	if number != 0 {
		err = s.release(r, w, number)
	} else {
		err = s.rolloutState(r, w)
	}
	if err != nil {
		st.cfg.Log.Error("a record of a rollout cannot be read, the one before stays", "key", w.Key.String(), "err", err)
	}
	if g := st.catalog.ProgressiveGroup(r.Ref()); g != nil && !s.bulk {
		s.rolled(g, r)
	}
	if !s.bulk {
		st.catalog.Rolls.Add(r.Ref())
	}
}

// rolloutState takes over which targets have which release.
func (s *step) rolloutState(r *catalog.Rolled, w store.Write) error {
	r.Epoch = s.st.catalog.Epoch
	of, raw, err := scheduler.RawRecord(w.Object)
	if err != nil {
		return err
	}
	state, err := rollout.Decode(raw)
	if err == nil {
		r.Of, r.State, r.Revision = of, state, w.Revision
	}
	return err
}

// release takes over the content of a release.
func (s *step) release(r *catalog.Rolled, w store.Write, number uint64) (err error) {
	if have := r.Releases[number]; have != nil && have.Revision == w.Revision {
		have.Epoch = s.st.catalog.Epoch
		return nil
	}
	content := s.content
	if content == nil {
		if content, err = unpackRelease(w); err != nil {
			return err
		}
	}
	content.Epoch = s.st.catalog.Epoch
	r.Releases[number] = content
	return nil
}

// unpackRelease reads the record of a release; it is nil for other records.
func unpackRelease(w store.Write) (*catalog.Kept, error) {
	if _, number, _ := scheduler.NamedRollout(w.Key.Name); number == 0 {
		return nil, nil
	}
	_, packed, err := scheduler.RawRecord(w.Object)
	if err != nil {
		return nil, err
	}
	content, err := rollout.Unpack(packed)
	if err != nil {
		return nil, err
	}
	k := &catalog.Kept{Revision: w.Revision, Packed: packed,
		Objects: make(map[store.Key]*catalog.KeptObject, len(content.Objects))}
	for _, o := range content.Objects {
		k.Objects[cloneKey(o.Key)] = &catalog.KeptObject{UID: strings.Clone(o.UID), Generation: o.Generation,
			Digest: o.Digest,
			Hash:   store.HashBody(o.Generation, o.Body), Scaled: scaledAs(o), Joined: o.Joined}
	}
	return k, nil
}

// cloneKey copies the texts of a key: those that were decoded may hold on to all that was.
func cloneKey(k store.Key) store.Key {
	return store.Key{Space: strings.Clone(k.Space), Group: strings.Clone(k.Group), Resource: strings.Clone(k.Resource),
		Namespace: strings.Clone(k.Namespace), Name: strings.Clone(k.Name)}
}

// rolled lets the feeds follow a state, or the content of a release.
func (s *step) rolled(g *catalog.Group, r *catalog.Rolled) {
	s.settleAll(g)
	s.st.catalog.Each(g, func(o *catalog.Object) { s.st.catalog.Pass(o) })
	s.dropRetired(r, false)
}

// endRollouts has all targets get what the objects say now.
func (s *step) endRollouts(r *catalog.Rolled) {
	r.Revision, r.State = 0, rollout.State{}
	if s.bulk {
		return
	}
	s.dropRetired(r, true)
	if g := s.st.catalog.ProgressiveGroup(r.Ref()); g != nil {
		s.settleAll(g)
		s.st.catalog.Rolls.Add(r.Ref())
	}
}

// sweepRollouts removes the records that a snapshot did not mention.
func (s *step) sweepRollouts() {
	for id, r := range s.st.catalog.Rollouts {
		if r.Revision != 0 && r.Epoch != s.st.catalog.Epoch {
			r.Revision, r.State = 0, rollout.State{}
		}
		maps.DeleteFunc(r.Releases, func(_ uint64, k *catalog.Kept) bool { return k.Epoch != s.st.catalog.Epoch })
		if r.Revision == 0 && len(r.Releases) == 0 && len(r.Retired) == 0 {
			delete(s.st.catalog.Rollouts, id)
		}
	}
}

// wakeRollouts has all rollouts looked at, after a snapshot.
func (st *State) wakeRollouts() {
	for _, r := range st.catalog.Rollouts {
		st.catalog.Rolls.Add(r.Ref())
	}
	for _, sp := range st.catalog.Spaces {
		for _, b := range sp.Placements {
			if b.Group.Progressive() {
				st.catalog.Rolls.Add(b.Group.UnitRef())
			}
		}
	}
}

// settleAll brings the feeds up to date with all objects of a group.
func (s *step) settleAll(g *catalog.Group) {
	var all []*catalog.Object
	g.Wished(func(o *catalog.Object) { all = append(all, o) })
	for _, o := range all {
		s.settle(o, true)
	}
}
