package placement

import (
	"time"

	"skerry.dev/skerry/store"
)

// Condition is one entry of status.conditions that a decision causes.
type Condition struct {
	Type    string
	Status  bool
	Reason  string
	Message string
}

// Event is something that people should read in the space. Equal events are counted, not repeated.
type Event struct {
	Key store.Key
	// APIVersion, Kind and UID of the object that the event is about.
	APIVersion, Kind, UID string
	// Warning events are about what does not work.
	Warning         bool
	Reason, Message string
}

// Located is an object and where it is, as summary needs it.
type Located struct {
	Key              store.Key
	APIVersion, Kind string
	UID              string
	Generation       int64
	Class            Class
	// Targets that the object is on, the longest there first.
	Targets []string
	// Named are the targets that have a Service for its name alone.
	Named []string
	// Divided: what it counts (spec.replicas, the bounds of an autoscaler, a disruption budget) is shared out
	// among the targets. Else each has all of it.
	Divided bool
	// Conditions are those of which its definition says which value is good.
	Conditions GoodConditions
}

// Moving is a group that is not where it should be.
type Moving struct {
	// Key is that of what holds the decision.
	Key store.Key
	// From is where the group is, To where it should be.
	From, To []string
	// Since is when its move began, zero while its time does not run.
	Since   time.Time
	Phase   Phase
	Message string
	// Reason is that of the first Stay, where Phase is CannotLeave.
	Reason string
}

// Tally is what the reports of a target say of all that is placed on it.
type Tally struct {
	// Applied counts the objects that are there as they are desired, Refused those that cannot be,
	// or may not be.
	Applied, Refused int
	// First are the first of the refusals, by key.
	First []Refused
}

// Refused is an object that a target refuses.
type Refused struct {
	Key             store.Key
	Reason, Message string
}

// Remaining is what is left on a target that workloads have to leave.
type Remaining struct {
	// Why they have to leave it.
	Why LeaveReason
	// Units is how many units are still decided to be there: the objects of a Placement, of a
	// namespace, or one object. Ended is how many objects stay because they have run to their end.
	Units, Ended int
	// Halted: nothing leaves by itself, because more than half of all targets are concerned.
	Halted bool
}
