package tunnel

import (
	"context"
	"fmt"
	"time"
)

// StreamOpener opens byte streams to children: one HTTP/1.1 exchange each.
type StreamOpener interface {
	// OpenStream opens a stream to a child by its target's name over its data connection, which it
	// brings up first when there is none. It fails with an *Away error when the child has no
	// session here, or does not bring the connection up in time.
	OpenStream(ctx context.Context, target string) (Stream, error)
}

// StreamHandler serves streams that the peer opened.
type StreamHandler interface {
	// ServeStream serves one stream and returns when it is done with it. ctx ends with the data
	// connection or the agent. A stream that is neither closed nor cancelled by then is cancelled.
	ServeStream(ctx context.Context, stream Stream)
}

// Away is returned when a target cannot be reached now.
type Away struct {
	// Target is the name of the SyncTarget.
	Target string
	// Since is when the target was last heard of, zero when it never was.
	Since time.Time
	// Reason says why in plain words.
	Reason string
}

// Error implements error.
func (a *Away) Error() string {
	if a.Since.IsZero() {
		return fmt.Sprintf("site %s cannot be reached: %s", a.Target, a.Reason)
	}
	return fmt.Sprintf("site %s cannot be reached: %s; last heard of at %s",
		a.Target, a.Reason, a.Since.UTC().Format(time.RFC3339))
}
