package binding

import "slices"

// Wait is one thing that a record waits for. People read it, and the scheduler looks again when its
// time is over.
type Wait struct {
	For WaitFor
	// Target is the one that is waited for. Instead is the target that it is to replace, zero where
	// there is none.
	Target, Instead TargetID
	// Until is when it is given up, in seconds since 1970; zero when it is waited for without end.
	Until int64
}

// WaitFor says what is waited for.
type WaitFor uint8

// What is waited for.
const (
	// WaitReady: Target is to be ready, so that Instead can be left.
	WaitReady WaitFor = iota
	// WaitAbsent: Target is to confirm that nothing is left there, or, where it is away, its lease is to
	// end.
	WaitAbsent
	// WaitCover: Target is left when one that stays is ready.
	WaitCover
	// WaitVolume: Target is not left, because a volume would be left behind.
	WaitVolume
	// WaitChange: Target was given up, until the objects, the wish or the target change.
	WaitChange
	// WaitSuspend: a person holds the record as it is.
	WaitSuspend
	// WaitHeard: Target has no session, and nothing is taken away at Instead before it has.
	WaitHeard
	// WaitHook: a hook is run before Target is left. Until is when the next attempt begins, zero while
	// one is under way.
	WaitHook
	// WaitTurn: Target is left when others have left it.
	WaitTurn
)

// Waits returns what a record waits for with these facts: nothing when it is at rest where it is
// wished.
func Waits(r Record, f Facts) (out []Wait) {
	if f.Suspended {
		out = append(out, Wait{For: WaitSuspend})
	}
	for _, p := range r.Places {
		t, _ := f.target(p.Target)
		switch {
		case p.Off && p.Leaving == Replaced && p.For == 0 && t.Fence == Speaks:
			out = append(out, Wait{WaitAbsent, p.Target, 0, f.due(p, false)})
		case p.Off:
			out = append(out, Wait{WaitAbsent, p.Target, p.For, 0})
		case t.Pinned && f.Wish == Somewhere && !slices.Contains(f.Wanted, p.Target):
			out = append(out, Wait{For: WaitVolume, Target: p.Target})
		case t.Queued:
			out = append(out, Wait{For: WaitTurn, Target: p.Target})
		case p.Runs(t.Hooks):
			w := Wait{For: WaitHook, Target: p.Target}
			if at := int64(p.Since); at > f.Now {
				w.Until = at
			}
			out = append(out, w)
		case p.For != 0 && t.State == Ready && r.runs(p.For, f):
		case p.For != 0 && t.State == Ready && t.Away:
			out = append(out, Wait{WaitHeard, p.Target, p.For, 0})
		case p.For != 0:
			out = append(out, Wait{WaitReady, p.Target, p.For, f.due(p, !r.Has(p.For))})
		case p.Leaving == Withdrawn || p.Leaving == Drained && !r.replaced(p.Target):
			out = append(out, Wait{For: WaitCover, Target: p.Target})
		}
	}
	out = append(out, r.unheard(f)...)
	for _, g := range r.GaveUp {
		out = append(out, Wait{For: WaitChange, Target: g.Target})
	}
	return out
}

// unheard returns the wanted targets without a place that have no session, where something is kept that is
// not wanted.
func (r Record) unheard(f Facts) (out []Wait) {
	kept := slices.IndexFunc(r.Places, func(p Place) bool { return !p.Off && !slices.Contains(f.Wanted, p.Target) })
	if kept < 0 || f.Wish != Somewhere || f.Suspended {
		return nil
	}
	places := find(r.Places)
	for _, t := range f.Wanted {
		gaveUp := slices.ContainsFunc(r.GaveUp, func(g GaveUp) bool { return g.Target == t })
		if places.of(t) < 0 && f.away(t) && !gaveUp {
			out = append(out, Wait{For: WaitHeard, Target: t, Instead: r.Places[kept].Target})
		}
	}
	return out
}

// runs reports whether a hook is run before a target is left.
func (r Record) runs(t TargetID, f Facts) bool {
	known, _ := f.target(t)
	return slices.ContainsFunc(r.Places, func(p Place) bool { return p.Target == t && p.Runs(known.Hooks) })
}

// replaced reports whether another target is to come in the place of this one.
func (r Record) replaced(t TargetID) bool {
	for _, p := range r.Places {
		if p.For == t && !p.Off {
			return true
		}
	}
	return false
}
