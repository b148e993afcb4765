// Package ondemand is for work that exists a thousand times over and has seldom anything to do.
//
// A [Job] has a goroutine only while there is something to do:
//
//	j := ondemand.NewJob(send)  // no goroutine yet
//	j.Kick()                    // runs send once; kicks before it begins count once
//	j.End()                     // returns when nothing runs any more
//
// [Apart] runs a function on a goroutine of its own, so that the caller's stack stays small.
// [Pause] waits for a time or for ctx. Of many that wait for the same, an [Asker] has one ask for all. It knows nothing
// of the work, and it is no pool: jobs do not share goroutines.
package ondemand
