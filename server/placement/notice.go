package placement

import "skerry.dev/skerry/store"

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
}
