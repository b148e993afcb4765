package volumes

import (
	"time"

	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/store"
)

// Move is what is to be copied for a unit now.
type Move struct {
	Space string
	Unit  binding.UnitID
	// From is the target that the unit leaves, To the one that it goes to.
	From, FromUID, To, ToUID string
	// Claims are those that the unit has at From, in the order of their names.
	Claims []Claim
	// Left is the generation of the unit's record where that says that From is left, and nothing of the unit is
	// there any more. It is zero while the unit runs.
	Left int64
	// Within is how long nothing of the unit may run for it; 0 is for as long as it takes.
	Within time.Duration
	// Standby: the unit stays at From, and To is to have a copy that it can begin on, see Replica.
	Standby bool
}

// Sides are those of the movers, at From and at To.
func (m *Move) Sides() [2]Side {
	if m.Standby {
		return [2]Side{SideSource, SideStandby}
	}
	return [2]Side{SideFrom, SideTo}
}

// At is the target of a mover.
func (m *Move) At(side Side) string {
	if side.Reads() {
		return m.From
	}
	return m.To
}

// Pair is what tells moves of units apart: what was copied for one means nothing for another.
func (m *Move) Pair() [2]string { return [2]string{m.FromUID, m.ToUID} }

// Claim is a claim of a space, and a workload whose Pods mount it.
type Claim struct {
	Namespace, Name, UID string
	User                 store.Key
	UserVersion          string // such as apps/v1
	// Templates: it stands for all claims that the templates of a StatefulSet, which has the name and the UID, have
	// made. Made is what one of these is, nil for a claim of the space.
	Templates bool
	Made      *store.MoverClaim
	// OnePod: only one Pod at a time may mount it (ReadWriteOncePod), so it is copied while the unit does not run.
	OnePod bool
}

// Rests reports whether the mover of a claim is to have no Pod now: it would keep one of the unit from running.
func (m *Move) Rests(c Claim, side Side) bool { return c.OnePod && side.Reads() && m.Left == 0 }

// State is how far a copy is, and what it does or why it does not go on.
type State struct {
	Copied binding.Copied
	Text   string
}
