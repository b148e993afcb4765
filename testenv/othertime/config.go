package othertime

import "time"

// Config says which program sees which time.
type Config struct {
	// At is what its clock says at the beginning.
	At time.Time
	// Until is a file. From the moment that it is there the clock is right.
	Until string
	// Command is the program and its arguments.
	Command []string
}
