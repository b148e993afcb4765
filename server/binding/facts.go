package binding

import "slices"

// Facts are all that a step of a record depends on, beside the record itself.
type Facts struct {
	// Now is the time, in seconds since 1970. Timeout is how long a half of a change may take.
	Now, Timeout int64
	// Wish says whether there is one. Wanted are the targets that it chooses, when it is Somewhere.
	Wish   Wish
	Wanted []TargetID
	// Passed are targets that were given up and that others are wanted instead of. They stay given up.
	Passed []TargetID
	// Suspended holds the record as it is.
	Suspended bool
	// Empty: the record decides about no object, so there is nothing to keep available.
	Empty bool
	// Ended: it decides about Jobs and Pods that have run to their end. They join nothing.
	Ended bool
	// Begun: something that must run once to its end has begun where the record is, or may have.
	Begun bool
	// BreakFirst: a target is left, and has confirmed that, before another one is joined.
	BreakFirst bool
	// Once: some of the objects must not run twice. A record that leaves a target that is away, or has
	// left one that has not confirmed it, breaks first for their sake.
	Once bool
	// HandsOver: some of the objects come to a target only when the one that it replaces has confirmed that nothing is
	// left there, see Record.Beside. The others are on both before.
	HandsOver bool
	// Copies: a target that has volumes is left as soon as what they hold is at the target that comes in its
	// place, see Target.Copied. Such a record breaks first.
	Copies bool
	// Singles: some of the objects must exist once, whatever the number of targets. SoleAt is the
	// target that is to have them, zero for the one that has them.
	Singles bool
	SoleAt  TargetID
	// Targets are the facts of each target that the record or Wanted names, by ascending ID. A target
	// that is missing does not exist.
	Targets []Target
}

// Wish is what is wished, in three different words.
type Wish uint8

// The wishes.
const (
	// NoOpinion: nothing is wished, or no target fits. What runs stays.
	NoOpinion Wish = iota
	// Nowhere is an explicit wish for zero: it leaves.
	Nowhere
	// Somewhere: Wanted says where.
	Somewhere
)

// Target is what is known of a target with respect to one record.
type Target struct {
	ID TargetID
	// State and Dispensable are what reports prove, see Observe.
	State State
	// Dispensable: nothing that is available there would be lost if what it came for went on alone.
	Dispensable bool
	// Refuses: it has said of something that it is to have that it does not take it, and has nothing of that name.
	Refuses bool
	// Leave says whether what is there must leave.
	Leave Leave
	// Pinned: a volume would be left behind there.
	Pinned bool
	// Copied is how much it has of what the volumes hold that it is to get.
	Copied Copied
	// Away: it has no session, and may not learn of anything. Nothing is taken away elsewhere for its sake.
	Away bool
	// Fence is whether what must not run twice may still run there although the target is away.
	Fence Fence
	// Hooks is how many hooks are to run before it is left; zero where it is left without. Hook is what
	// is known of the present one.
	Hooks uint8
	Hook  HookState
	// Queued: others leave it first, so that it is not left for another one yet.
	Queued bool
	// Try stands for all that a new attempt would depend on: the objects, the wish, the target.
	Try uint64
}

// State is what reports prove of a target.
type State uint8

// The states.
const (
	// Unproven: neither of the others. Silence proves nothing.
	Unproven State = iota
	// Ready: every object is applied there and available.
	Ready
	// Absent: the target has been left, and no object is there any more.
	Absent
)

// Copied is how far a copy of volumes is.
type Copied uint8

// The states of a copy.
const (
	// CopiedNot: the rest would take too long to be copied while nothing runs.
	CopiedNot Copied = iota
	// CopiedNearly: the rest is little.
	CopiedNearly
	// CopiedWhole: both hold the same, and nothing has run since at the target that was left.
	CopiedWhole
)

// Fence is whether what must not run twice may still run on a target that is away. Nothing returns
// there for want of time.
type Fence uint8

// The fences.
const (
	// Speaks: the target speaks for itself, or nothing of the record must not run twice.
	Speaks Fence = iota
	// MayRun: it is away, and nobody knows what runs there.
	MayRun
	// RunsNot: it is away, and it is certain that nothing of that runs there any more: its lease has
	// ended, or an admin says so. Once it is out of the feeds this is as good as its own word.
	RunsNot
)

// Leave is whether a target must be left.
type Leave uint8

// The urgencies.
const (
	// MayStay: nothing says that it must.
	MayStay Leave = iota
	// Drain: it is left when what replaces it is ready.
	Drain
	// Evict: it is left now.
	Evict
)

// target returns the facts of a target, and whether it exists.
func (f *Facts) target(t TargetID) (Target, bool) {
	i, found := slices.BinarySearchFunc(f.Targets, t, func(known Target, t TargetID) int {
		return int(int64(known.ID) - int64(t))
	})
	if !found {
		return Target{}, false
	}
	return f.Targets[i], true
}

func (f *Facts) state(t TargetID) State {
	known, _ := f.target(t)
	return known.State
}

// away reports whether a target cannot learn now that something is to come to it.
func (f *Facts) away(t TargetID) bool {
	known, _ := f.target(t)
	return known.Away
}

func (f *Facts) copied(t TargetID) Copied {
	known, _ := f.target(t)
	return known.Copied
}

// serves reports whether a target is ready and heard, so that another one can be left for it.
func (f *Facts) serves(t TargetID) bool { return f.state(t) == Ready && !f.away(t) }

// fenced reports whether a target is away on which something may run that must not run twice.
func (f *Facts) fenced(t TargetID) bool {
	known, _ := f.target(t)
	return known.Fence != Speaks
}

// returns reports whether a target may be returned to when another one is not ready in time.
func (f *Facts) returns(t TargetID) bool { return f.usable(t) && !f.fenced(t) }

// usable reports whether a target may be had or joined.
func (f *Facts) usable(t TargetID) bool {
	known, exists := f.target(t)
	return exists && known.Leave == MayStay
}

func (f *Facts) now() uint32 { return uint32(f.Now) }

// refusedTimeout is for how many seconds a target is waited for that refuses something, while what it comes for is
// left. What comes first may be refused for a moment: by a webhook that starts beside it, or for its account.
const refusedTimeout = 60

// due is when what a place waits for is given up, in seconds since 1970; zero for never. Alone: what it came for is
// left, so that nothing of the unit runs for it meanwhile.
func (f *Facts) due(p Place, alone bool) int64 {
	within := f.Timeout
	if t, _ := f.target(p.Target); alone && t.Refuses {
		within = min(within, refusedTimeout)
	}
	if p.Since == 0 {
		return 0
	}
	return int64(p.Since) + within
}

func (f *Facts) overdue(p Place, alone bool) bool { return p.Since != 0 && f.Now >= f.due(p, alone) }
