// Package progress tells how far the decisions of Placements are carried out: their counts, the worst
// problems, how old what is known is, and the conditions Synced and Available.
//
// Its nouns: the *content* of a Placement is what it has to carry out, see placement.Content. A
// *verdict* is what the last reports of one target say about the content: the worst of its objects. A
// *book* is one Placement with the verdicts of its targets.
//
//	report of a target --> Changed(placement, target) --> verdict of that target, anew
//	decision, objects  --> Changed(placement, "")     --> all verdicts, when the content is another
//	outage             --> Outage(target)             --> no verdict: counted beside them
//
// A verdict is made of reports alone. Whether the target is silent is looked up when the status is
// made, so that an outage reads no report, and takes nothing back when it ends. A target that is
// silent is never counted as failed: the last that it said holds, and it counts as stale beside that.
//
// Writes are bounded by Placements: what happens gathers for half a second, a Placement is written
// once a second at most, and only when the status is another. A Placement whose verdicts take long to
// make waits four times as long.
//
// Everything is soft. A new center makes the verdicts of the stored reports, and takes since when a
// problem is there from the stored status.
//
// Lock order: the lock of Progress is not held while anybody but the queue is called.
package progress
