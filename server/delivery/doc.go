// Package delivery turns the center's data into one desired feed per target, and records decisions.
//
// Its nouns: a *group* is everything that one wish decides about (a Placement, the label of an
// object or of a Namespace, the defaultTargets of a space). A *record* is the decision of a group.
// The *catalog* has key, hash and places of every placed object, never bodies.
//
//	stored writes --> catalog --> feeds (one per target)
//	reports ------> step ------> records (one write per decision)
//
// # Records
//
// A decision is recorded in one write: the annotation skerry.dev/targets of a Namespace, of an
// object with a label of its own or of a cluster-scoped object, or status.decision of a Placement.
// The feeds follow from the records alone, so a decision is atomic, and a center that restarts
// goes on from what is recorded. On all other objects the annotation is derived, and is written
// when there is time. A record lists the longest placed target first.
//
// A derived annotation may be old. It is not taken for a record when its object gets a label of
// its own: the write itself says where the object is. A replica that does not know says with
// skerry.dev/undecided that the annotation is from before, and so does the write that takes the
// label off. The Namespace does not move before that annotation is gone, for 10 s at most.
//
// # Life of a move from A to B
//
//  1. A label, a Placement or a target changes. The group is looked at, and placement.Next answers
//     (A, B). With BreakBeforeMake it answers nothing, and A has to report none of the objects.
//  2. The decision is recorded. B's feed gets the objects under that revision.
//  3. B reports every object of the group as applied, and its workloads as available.
//  4. Next answers (B). That is recorded, and A's feed gets tombstones.
//
// A move that takes longer than readyTimeout (10 minutes, where no Placement says otherwise) goes
// back to A and stays there until the objects, what they name, the wish or the targets that fit it
// change. A hash of these and the time of the beginning are recorded (skerry.dev/move or
// status.move), so that a restart neither forgets the time nor tries again. A move that is taken
// back ends where it began: at once when that is as desired, after readyTimeout whatever it is. Of
// what delays a move, what a target refuses is named before what has not arrived.
//
// A group with a bound claim, or a StatefulSet with claims of its own, is not moved: the condition
// skerry.dev/Moving says VolumeWouldStay, and which label pins what. An object that passes from
// one group to another is kept where it was until it has arrived where the other group is.
//
// # There and back
//
// What B reports may be from before: the object has left B and is to come back, while B is still
// rid of it. Such a report is doubted (doubts.go). It is no arrival until B has said that the
// object is gone, or has confirmed: it has durably stored that it is to have the object, and its
// reports were compared after that. A site that begins to delete an object does not report it as
// applied from then on. After a restart of the center everything is doubted that an incomplete
// change has given to a target.
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
// # Leaving
//
// A tombstone says how it removes. Deleted in the space is deleted everywhere; with the finalizer
// orphan, without what the object owns. No longer placed there follows whenPlacementDeleted of the
// Placement that had decided. With Orphan the object, what its pods name, its Namespace and its
// definition stay on the target without our annotations.
//
// A Job that is Complete or Failed, and a bare Pod that has ended, stay on the targets where they
// ran for as long as they exist in the space: elsewhere they would run again. They are sent once
// more, with skerry.dev/ended, for a site that loses its memory. No move waits for them.
//
// A SyncTarget that is deleted with detachPolicy Clean has its feed emptied at once (empty.go).
// These tombstones are intended, so that the site does not ask. Decisions that name the target are
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
