package catalog

import (
	"time"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/queue"
	"skerry.dev/skerry/store"
)

// Catalog is what is known of all spaces and targets. Its lock guards all fields but the queues, which
// have their own, and all that the fields lead to. Unless a method says otherwise the lock must be held when
// it is called.
type Catalog struct {
	lock

	Spaces  map[string]*Space
	Imports Imports
	// Affine are the Services whose callers are to come back to the Pod that has answered them, and for how long after a
	// call (placement.SessionAffinityOf). Uncommon are claims, and StatefulSets with templates of some, whose volumes are
	// not copied as others are.
	Affine    Few[time.Duration]
	Uncommon  Few[placement.Uncommon]
	KindNames map[[2]string]*Kind // by group and Kind
	Targets   map[string]*Target
	Locations map[string]*Location
	Sets      sets
	Records   records
	Rollouts  rollouts
	Rooms     rooms
	Policies  policies // of root
	Kinds     map[[2]string]*Kind
	Served    served
	Intents   intents
	Asked     askedFor

	// Removing are targets that are being deleted with the policy Clean, and not emptied yet. Finished are
	// Jobs and Pods that have run to their end. Oversize is what is not sent, with the size of its body.
	// HookMarks are Jobs that are hooks. Single are StatefulSets that are kept on one target. Divided are
	// Placements that divide replicas.
	Removing   map[string]*Target
	Finished   map[*Object]struct{}
	Oversize   map[*Object]int
	HookMarks  map[*Object]struct{}
	Movers     Movers
	PlaceNotes map[*Object]PlaceNote
	Doors      map[*Object]map[string]door // by name of the target, see door
	DoorsNoted map[*Object]string          // as annotations say it
	Divided    map[*Rulebook]struct{}
	// Parting is what is being cut off from its unit at this moment, because it has begun.
	Parting map[*Object]struct{}

	// Moves are the moves that are under way, as they were told. Deciding is the unit that is, or was last, decided
	// about: what it waits for is not told yet. Passes are what is said of cohorts.
	Moves    map[Ref]placement.Moving
	Deciding Ref
	Passes   map[uint64]PassWords
	// Stopped are CronJobs that start no more Jobs where they leave, see stops.
	Stopped map[*Object]struct{}
	// HookFailures have a lock of their own.
	HookFailures *HookFailures

	// Revision is that of the last write. SeenAt is the one that was told to those who wait, and Applied is
	// closed when it is another one. Epoch counts snapshots.
	Revision int64
	SeenAt   int64
	Applied  chan struct{}
	Epoch    uint32

	// Queues of what has to be looked at again because of something here: groups, by who decides; objects
	// whose annotations, conditions or bodies are not as they should be; Locations to count; Jobs that are
	// hooks; Placements with a rollout.
	Groups   queue.Queue[Ref]
	Notes    queue.Queue[store.Key]
	Renders  queue.Queue[store.Key]
	Says     queue.Queue[store.Key]
	Status   queue.Queue[store.Key]
	HookJobs queue.Queue[store.Key]
	Rolls    queue.Queue[UnitRef]
}

// New returns an empty catalog.
func New() *Catalog {
	return &Catalog{
		Spaces:       map[string]*Space{},
		Imports:      Imports{},
		Affine:       Few[time.Duration]{},
		Uncommon:     Few[placement.Uncommon]{},
		KindNames:    map[[2]string]*Kind{},
		Targets:      map[string]*Target{},
		Locations:    map[string]*Location{},
		Sets:         newSets(),
		Records:      newRecords(),
		Rollouts:     rollouts{},
		Rooms:        newRooms(),
		Policies:     policies{},
		Kinds:        map[[2]string]*Kind{},
		Intents:      intents{},
		Asked:        askedFor{UIDs: map[store.Key]string{}, Keys: map[string]store.Key{}},
		Removing:     map[string]*Target{},
		Finished:     map[*Object]struct{}{},
		Oversize:     map[*Object]int{},
		HookMarks:    map[*Object]struct{}{},
		Movers:       Movers{},
		PlaceNotes:   map[*Object]PlaceNote{},
		Doors:        map[*Object]map[string]door{},
		DoorsNoted:   map[*Object]string{},
		Divided:      map[*Rulebook]struct{}{},
		Moves:        map[Ref]placement.Moving{},
		Passes:       map[uint64]PassWords{},
		Stopped:      map[*Object]struct{}{},
		HookFailures: newHookFailures(),
		Applied:      make(chan struct{}),
		Groups:       NewQueue(Ref.Space),
		Notes:        NewQueue(store.SpaceOf),
		Renders:      NewQueue(store.SpaceOf),
		Says:         NewQueue(store.SpaceOf),
		Status:       NewQueue(store.SpaceOf),
		HookJobs:     NewQueue(store.SpaceOf),
		Rolls:        NewQueue(func(u UnitRef) string { return u.space }),
	}
}

// NewQueue makes a queue in which no space waits for all that another one has.
func NewQueue[T comparable](space func(T) string) queue.Queue[T] {
	return queue.NewFair(5*time.Millisecond, 30*time.Second, space)
}
