package traffic

import "skerry.dev/skerry/store"

// Purpose is what bytes are for.
type Purpose uint8

// The purposes.
const (
	// Control is the control stream: hello, conditions, orders, certificates, pings.
	Control Purpose = iota
	// Positions are the frames of delta streams that carry no objects: positions, acknowledgements,
	// comparisons.
	Positions
	// Desired are objects on their way down.
	Desired
	// Errors, Status, Associated and Events are reports on their way up, by class.
	Errors
	Status
	Associated
	Events
	// Streams are what crosses data connections: logs, terminals, forwarded ports.
	Streams
	// Transport is what the transport adds: handshakes, packet heads, its own acknowledgements,
	// what was sent again.
	Transport

	purposes
)

var names = [purposes]string{
	"control",
	"positions",
	"desired",
	"errors",
	"status",
	"associated",
	"events",
	"streams",
	"transport",
}

// String returns the purpose as a label.
func (p Purpose) String() string { return names[p] }

// OfReport returns the purpose of a report.
func OfReport(e store.Entry) Purpose {
	switch {
	case e.Priority < store.PriorityCondition:
		return Errors
	case e.Priority == store.PriorityAssociated:
		return Associated
	case e.Priority == store.PriorityEvent:
		return Events
	default:
		return Status
	}
}

// OfDesired returns the purpose of a desired entry.
func OfDesired(store.Entry) Purpose { return Desired }

// Direction is seen from the side that counts.
type Direction uint8

// The directions.
const (
	Sent Direction = iota
	Received

	directions
)

// String returns the direction as a label.
func (d Direction) String() string {
	if d == Sent {
		return "sent"
	}
	return "received"
}
