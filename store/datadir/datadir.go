// Package datadir says whose a data directory is. Center and agent have files of other names, so
// either would start on the directory of the other without an error, and leave keys and data there
// that nobody looks for.
//
//	err := datadir.Check(dir, datadir.Agent) // before anything is written to dir
package datadir

import (
	"fmt"
	"os"
	"path/filepath"
)

// Part is a part of Skerry that has a data directory.
type Part string

// The parts. A relay is a center, and has its agent's files in a directory below its own.
const (
	Center Part = "center"
	Agent  Part = "agent"
)

// marks are files that only the part makes, and that none of its directories lacks.
var marks = map[Part][]string{
	Center: {"pki", "state.db"},
	Agent:  {"agent.db", "agent.key"},
}

// OtherError is returned by Check for a directory that is another part's.
type OtherError struct {
	Dir string
	// Is is whose it is, Wanted who was to run there.
	Is, Wanted Part
}

// Error says whose the directory is, and what to do.
func (e *OtherError) Error() string {
	return fmt.Sprintf("the data directory %s is %s's; give the %s one of its own with --data-dir", e.Dir,
		map[Part]string{Center: "a center", Agent: "an agent"}[e.Is], e.Wanted)
}

// Check returns an *OtherError if the directory has data of another part and none of this one. One
// that both have used already passes.
func Check(dir string, part Part) error {
	if has(dir, part) {
		return nil
	}
	for other := range marks {
		if other != part && has(dir, other) {
			return &OtherError{Dir: dir, Is: other, Wanted: part}
		}
	}
	return nil
}

// has reports whether a directory has data of a part. What cannot be looked at is an error of who
// opens it.
func has(dir string, part Part) bool {
	for _, name := range marks[part] {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}
