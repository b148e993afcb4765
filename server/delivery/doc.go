// Package delivery has decisions made: where every object of a space runs, and what is said of that.
//
// Three packages turn writes and reports into one feed per target. Each imports only those before it, and
// none holds a lock while it reads or writes anything.
//
//	server/catalog    what is known: objects, wishes, targets, records
//	server/desired    takes writes in, and keeps the feeds: what each target shall have
//	server/delivery   looks at what changed, decides, and writes one record per decision
//
//	stored writes --> desired --> catalog --> feeds (one per target)
//	reports --------> delivery: look --> binding.Next --> records (stored writes again)
//
// # Records
//
// Where an object is follows from what is stored alone: the newest cohort that names it, else the
// Binding of its stamp, the annotation skerry.dev/unit. So a decision is atomic, whatever the number of
// objects, and a center that restarts goes on from what is recorded. Records lie beside the objects of
// their space (package scheduler) and come back in the order of the store, as every other write.
//
// Admission stamps a new object where it is known what it is with (hook.go). Where it is not, at a
// replica that does not lead, the leader writes the stamp before the object is in any feed. What must not
// be in two places begins in a cohort, and is stamped when that has arrived. All other annotations, such
// as skerry.dev/targets, and status.decision of a Placement are a view: they are written when there is
// time, and nothing here reads them.
//
// One goroutine makes decisions, one at a time (decide.go, passes.go). It looks at the catalog by
// value, asks the targets' reports without a lock, writes one record by compare and swap, and waits
// until the catalog has that. A record takes a bounded number of steps a minute (pace.go). Before its
// first decision a leader takes the term (term.go).
//
// # Life of a move from A to B
//
//  1. A label, a Placement or a target changes. The group is looked at, and binding.Next answers
//     (A leaving, B for A). With BreakBeforeMake it answers (A off), and A has to confirm that none of the
//     objects is left.
//  2. The Binding is written. B's feed gets the objects under that revision.
//  3. B reports every object of the group as applied, and its workloads as available.
//  4. Hooks of the Placement run, one after the other, if it has any (leavehooks.go).
//  5. Next answers (B). That is recorded, and A's feed gets tombstones.
//
// Each pair of a target that leaves and one that comes moves by itself. A move that takes longer than
// readyTimeout (10 minutes, where no Placement says otherwise) goes back to A, where that one is known
// to be available, and stays there until the objects, what they name, the wish or B change. The Binding
// has a hash of these, and the time of the beginning, so that a restart neither forgets the time nor
// tries again. A move that is taken back ends where it began. Of what delays a move, what a target
// refuses is named before what has not arrived.
//
// A group with a bound claim, or a StatefulSet with claims of its own, is not moved: the condition
// skerry.dev/Moving says VolumeWouldStay, and which label pins what. An object that passes from
// one group to another is in a cohort: it stays where it was until it has arrived where the other group
// is.
//
// # There and back
//
// What B reports may be from before: the object has left B and is to come back, while B is still
// rid of it. Such a report is doubted (desired/doubts.go). It is no arrival until B has said that the
// object is gone, or has confirmed: it has durably stored that it is to have the object, and its
// reports were compared after that. A site that begins to delete an object does not report it as
// applied from then on. After a restart of the center everything is doubted that an incomplete
// change has given to a target. That nothing is left on a target counts once it has confirmed, too.
//
// # What a target chooses
//
// A cluster fills in clusterIP, ipFamilies, ipFamilyPolicy, node ports and healthCheckNodePort of a
// Service, and volumeName and storageClassName of a claim. The space shows what the target has
// chosen that was decided for first. The annotation skerry.dev/allocated has these values. A field
// that holds one of them is the target's choice: it is not sent, and the next target's replaces it.
// A field that holds anything else is the user's wish and goes to every target. A site that cannot
// fulfil it refuses the object, and a move to that site is given up. nodeName of a bare Pod is
// always the user's: where no node has that name, the site ends the Pod after about 40 s and
// removes it, and the space shows it as Failed.
//
// # Levels
//
// A Placement of root is carried out by its copy in each space (package policies). The order of
// copies, labels and Placements of the space is that of placement.Decides. While a space lacks the
// copy of one with precedence Override nothing is decided there.
//
// A StatefulSet whose record has several targets is on one of them alone, unless somebody says that it
// is to be duplicated: it is where the record has the mark for it. Of a Placement with
// includeDependencies false neither what its objects name nor the definitions of the space follow.
// What selects or names a workload goes along with it, see catalog.Ties, unless it has a label of its own
// or a Placement lists its kind.
//
// # Leaving
//
// What a finalizer of the space keeps stays where it is, see placement.Held. A tombstone says how it
// removes. Deleted in the space is deleted everywhere; with the finalizer
// orphan, without what the object owns. No longer placed there follows whenPlacementDeleted of the
// Placement that had decided. With Orphan the object, what its pods name, its Namespace and its
// definition stay on the target without our annotations.
//
// A Job that is Complete or Failed, and a bare Pod that has ended, stay on the targets where they
// ran for as long as they exist in the space, in a cohort of their own: elsewhere they would run
// again. They are sent once more, with skerry.dev/ended, for a site that loses its memory. No move
// waits for them.
//
// What must not run twice leaves a target that is away once its lease has ended, or stays and says why
// (fencing.go). Replicas that a Placement divides are shared out when an object is rendered.
//
// A target that is drained, has a taint with the effect NoExecute or is away for longer than
// spec.evictAfter is left by ordinary moves (evict.go, placement.Vacate), so many units at a time where
// it is drained (turns.go, placement.Turn). A SyncTarget that is deleted
// with detachPolicy Clean is left so, too; its feed is emptied when no group is there any
// more. These tombstones are intended, so that the site does not ask. Decisions that name the target are
// made anew.
//
// # Policy
//
// Placement.spec.sync is rendered on every body that the Placement decides about, as the
// annotation skerry.dev/sync: compact JSON of what is not the default. The agent obeys it and a
// relay hands it on. When a policy changes, bodies are rendered again without a write in the space.
// spec.suspend stops the decisions of that Placement alone.
//
// Space.spec.namespaceMapping is rendered on every body of the space, as the annotation
// skerry.dev/namespace-prefix. It never changes. What a parent has written there is removed: at a
// relay its own Space decides.
package delivery
