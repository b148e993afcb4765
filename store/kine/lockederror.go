package kine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Opening waits for a program that has the database for a moment, such as a backup by hand. One that
// has it at each of these looks keeps it.
const (
	lockLooks = 20
	lockPause = 500 * time.Millisecond
)

// LockedError is returned by Open for a file that another process keeps locked.
type LockedError struct {
	Path string
	// Process is 0 where this process cannot see it.
	Process int
}

// Error names the process, and says what to do.
func (e *LockedError) Error() string {
	holder := "another process"
	if e.Process != 0 {
		holder = fmt.Sprintf("process %d", e.Process)
		if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", e.Process)); err == nil {
			holder += fmt.Sprintf(" (%s)", strings.TrimSpace(string(name)))
		}
	}
	return fmt.Sprintf("%s is locked by %s; end it, and never open the database of a center with another program",
		e.Path, holder)
}

// awaitUnlocked returns a *LockedError if another process keeps the database in dir locked.
func awaitUnlocked(ctx context.Context, dir string, looks int, pause time.Duration) error {
	for look := 1; ; look++ {
		pid, held, err := LockHolder(dir)
		switch {
		case err != nil || !held:
			return nil // whatever else is wrong, the opening finds
		case look == looks:
			return &LockedError{Path: filepath.Join(dir, FileName), Process: pid}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}
