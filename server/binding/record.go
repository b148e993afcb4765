package binding

import (
	"slices"

	"skerry.dev/skerry/store"
)

// UnitID names a unit: the UID of the Namespace, Placement, Space or object that holds its wish.
type UnitID string

// ObjectID is the UID of an object in a space.
type ObjectID string

// TargetID stands for the UID of a SyncTarget. IDs are small and never used again, so that a
// target of the same name, made anew, is another one. Zero is no target.
type TargetID uint32

// Record is where something is decided to be. Bindings and Cohorts have one each. A Record is a
// value: its slices are never changed in place.
type Record struct {
	// Era is that of the leader that wrote the record last.
	Era store.Era
	// Generation counts the changes of place: it rises by one with each write that adds a target to
	// the feeds or takes one out, and with no other.
	Generation int64
	// Places are what is known of each target, the longest there first. No target is named twice.
	Places []Place
	// GaveUp are targets that were not ready in time. They are not tried again before their Try is
	// another one.
	GaveUp []GaveUp
}

// Place is a target of a Record.
type Place struct {
	Target TargetID
	// For is the target that this one is to replace. It is an obligation: until this target is
	// ready, For is kept, or is returned to. Zero when there is none.
	For TargetID
	// Off: the target is out of the feeds already, and has not confirmed that nothing is left.
	Off bool
	// Leaving says why the place ends, Stays when it does not.
	Leaving Reason
	// Sole: what must exist once is here, and not at the places without the mark. While it goes from
	// one target to another both have it.
	Sole bool
	// Copying: the place is Off, and what its volumes hold is to be copied to the target that comes in its
	// place, before that one is joined. Until then it is returned to with all that it had.
	Copying bool
	// Since is when the present half of the change began, in seconds since 1970 until 2106; while
	// Hooks run, when the present attempt begins, which is later than now after one that has failed. It
	// is zero for a place that nothing is waited for, and while the unit is suspended.
	Since uint32
	// Hooks is how far the hooks have come that are run before the place is left.
	Hooks Hooks
}

// Reason is why a place ends.
type Reason uint8

// The reasons.
const (
	// Stays: the place does not end.
	Stays Reason = iota
	// Replaced: another target comes in its place. A place that is Off for this reason is returned
	// to when none does.
	Replaced
	// Withdrawn: nothing wishes it any more. There is no way back.
	Withdrawn
	// Drained: the target is to be emptied, once another one is ready.
	Drained
	// Evicted: the target must not have it any longer.
	Evicted
)

// GaveUp is a target that was given up, and the Try that it had then.
type GaveUp struct {
	Target TargetID
	Try    uint64
}

// Binding is the record of one unit. It outlives its holder for as long as a stamp or a cohort
// names it.
type Binding struct {
	Unit UnitID
	Record
}

// Here returns the targets whose feeds have what the record decides about, the longest there first.
func (r Record) Here() []TargetID {
	var out []TargetID
	for _, p := range r.Places {
		if !p.Off {
			out = append(out, p.Target)
		}
	}
	return out
}

// Staying returns the targets of Here that do not leave. It is what a cohort that is on its way to
// this record aims at.
func (r Record) Staying() []TargetID {
	var out []TargetID
	for _, p := range r.Places {
		if !p.Off && p.Leaving == Stays {
			out = append(out, p.Target)
		}
	}
	return out
}

// Has reports whether the feed of a target has what the record decides about.
func (r Record) Has(t TargetID) bool {
	return slices.ContainsFunc(r.Places, func(p Place) bool { return p.Target == t && !p.Off })
}

// Beside returns the targets of Here that stand beside the one that they are to replace, which was not evicted.
// What must not be at two places on its way is not there yet.
func (r Record) Beside() (out []TargetID) {
	for _, p := range r.Places {
		if p.Off || p.For == 0 {
			continue
		}
		if slices.ContainsFunc(r.Places, func(o Place) bool { return o.Target == p.For && o.Leaving != Evicted }) {
			out = append(out, p.Target)
		}
	}
	return out
}

// HandsOver returns the targets that were left for others which are here already: what comes last comes there
// when it is gone on these.
func (r Record) HandsOver() (out []TargetID) {
	for _, left := range r.Places {
		if left.Off && left.Leaving == Replaced && slices.ContainsFunc(r.Places, func(p Place) bool {
			return !p.Off && p.For == left.Target
		}) {
			out = append(out, left.Target)
		}
	}
	return out
}

// Copying returns the targets that were left, and whose volumes are being copied.
func (r Record) Copying() []TargetID {
	var out []TargetID
	for _, p := range r.Places {
		if p.Copying {
			out = append(out, p.Target)
		}
	}
	return out
}

// Soles returns the targets of Here that have what must exist once.
func (r Record) Soles() []TargetID {
	var out []TargetID
	for _, p := range r.Places {
		if !p.Off && p.Sole {
			out = append(out, p.Target)
		}
	}
	return out
}

// Settled reports whether no change is on its way.
func (r Record) Settled() bool {
	soles := 0
	for _, p := range r.Places {
		if p.Off || p.For != 0 || p.Leaving != Stays {
			return false
		}
		if p.Sole {
			soles++
		}
	}
	return soles < 2
}

// MayReturn reports whether a target that was taken off may be joined again. An object that comes
// to a unit meanwhile was never there.
func (r Record) MayReturn() bool {
	return slices.ContainsFunc(r.Places, func(p Place) bool { return p.Off && p.Leaving == Replaced })
}

// Equal reports whether two records say the same.
func (r Record) Equal(o Record) bool {
	return r.Era == o.Era && r.Generation == o.Generation && slices.Equal(r.Places, o.Places) &&
		slices.Equal(r.GaveUp, o.GaveUp)
}

// SamePlaces reports whether the feeds have the same by both records.
func (r Record) SamePlaces(o Record) bool {
	other, n := find(o.Places), 0
	for _, p := range r.Places {
		if p.Off {
			continue
		}
		if n++; !other.has(p.Target) || other.places[other.of(p.Target)].Sole != p.Sole {
			return false
		}
	}
	for _, p := range o.Places {
		if !p.Off {
			n--
		}
	}
	return n == 0 && slices.Equal(r.Beside(), o.Beside())
}

// Moves reports whether another next step of the record goes further than r: it joins or leaves a target, or runs
// a hook before it leaves one, and r does not.
func (r Record) Moves(other Record) bool {
	is := find(r.Places)
	return !r.SamePlaces(other) || slices.ContainsFunc(other.Places, func(p Place) bool {
		return p.Hooks.Began != 0 && (!is.has(p.Target) || is.places[is.of(p.Target)].Hooks.Began == 0)
	})
}

func (r Record) clone() Record {
	r.Places, r.GaveUp = slices.Clone(r.Places), slices.Clone(r.GaveUp)
	return r
}
