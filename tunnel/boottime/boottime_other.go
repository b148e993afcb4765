//go:build !linux

package boottime

import "time"

// Now returns how long this process has run. It stops in suspend.
func Now() time.Duration { return time.Since(started) }

// ID is empty: no reading outlives the process.
func ID() string { return "" }
