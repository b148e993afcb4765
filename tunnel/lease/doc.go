// Package lease is the promise by which a parent may start elsewhere what must never run twice: the
// child stops it at its site when it has not heard its parent for long enough, and the parent waits
// for longer than that. Both halves are here, without I/O, so that one test can run them against
// each other: Holder is the child's, Granter and Ledger are the parent's.
//
// Life of a lease:
//
//  1. The admin sets spec.lease of a SyncTarget. The parent stores what it is about to promise
//     (status.lease) before it promises it.
//  2. The child sends a Request and notes when. The parent notes when it answers.
//  3. The Answer renews the lease from the time of the Request on, so the child's lease always ends
//     before the parent's does. Both count by package boottime.
//  4. The child hears nothing more. At Until it stops what RunsOnce, and goes on to keep it stopped,
//     over restarts of the agent. After a reboot nothing proves that the lease has not ended.
//  5. The parent waits for Ledger.Ends: longer by 1 %, 2 s and what it takes to stop. Then it starts
//     a copy elsewhere.
//  6. The child is back. Its parent answers, and says when the child lacks nothing of what is
//     desired any more. Only then the child starts again what it is still to have.
//
// What this does not fence: an agent that is dead while its kubelet goes on, and a machine that is
// set back to a snapshot.
package lease
