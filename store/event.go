package store

// ReportEvent is an Event that the target has about a placed object, or about something that
// belongs to one. It says nothing that changes with each repetition: the last time is the Report's.
type ReportEvent struct {
	// Owner is the placed object.
	Owner EventObject `json:"owner"`
	// About is what of it the Event is about; nil is the placed object itself.
	About *EventObject `json:"about,omitempty"`
	// Type, Reason and Message are the target's, Component is who says it there.
	Type      string `json:"type,omitempty"`
	Reason    string `json:"reason"`
	Message   string `json:"message,omitempty"`
	Component string `json:"component,omitempty"`
	// First is when it was first seen, Unix time in seconds.
	First int64 `json:"first,omitempty"`
	// Count is how often it was seen, rounded down to a power of two.
	Count int64 `json:"count,omitempty"`
	// During is the half hour, counted from 1970, in which it was last seen.
	During int64 `json:"during,omitempty"`
}

// EventObject names an object in the namespace of the Event.
type EventObject struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}
