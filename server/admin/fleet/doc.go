// Package fleet says in words what the statuses of SyncTargets say: a table, one site as a whole, a
// tree, what is wrong, what moves. It asks nothing of a center: a [Snapshot] has everything.
//
//	page := fleet.Table(snapshot, false)
//	page.Print(os.Stdout)
//
// A [Page] is rows with keys. What changed between two pages is said row by row, for those who
// watch without a terminal. Fleets of more than [Many] sites are summed up, the worst sites by
// name.
package fleet

import (
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// Many is the size of a fleet whose sites are no longer listed one by one.
const Many = 100

// Worst is how many sites of a larger fleet are named.
const Worst = 20

// Snapshot is what is known of a center and its direct children at one time.
type Snapshot struct {
	// Center is the address of the center, HOST:PORT.
	Center string
	// Sites are sorted by name.
	Sites []v1alpha1.SyncTarget
	// Wrong is what is wrong at the center itself and with its spaces.
	Wrong []Problem
	// Former are names that the center's certificate keeps.
	Former []v1alpha1.FormerName
	// Ended are the moves that ended last, the newest first.
	Ended []Move
	Clock Clock
}

// Clock says how times are written: how long ago they are, or, where Stamps is set, as they are, so
// that the same fact is the same text later.
type Clock struct {
	Now    time.Time
	Stamps bool
}
