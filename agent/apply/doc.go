// Package apply makes the target match the durable desired copy. It applies every live entry by
// server-side apply, removes what a tombstone names, and does nothing else.
//
// Its nouns are the [Desired] copy, which it reads; inventory.Record, which says what was written
// before; and [Reports], which receives the result. An [Applier] works from the file alone: a
// parent that is away changes nothing for it. It never talks to the parent, and it does not watch
// the target. observe calls [Applier.Seen] with what it sees and [Applier.Vanished] with what went.
//
//	a := apply.New(apply.Config{Desired: sink, Inventory: inv, Clients: clients, Reports: reports})
//	a.Changed(keys)    // entries were committed to the desired copy
//	err := a.Run(ctx)  // eight workers, until ctx ends
//
// The life of one key:
//
//  1. Changed puts it into the keyed queue. Kinds go in the order CustomResourceDefinition,
//     Namespace, everything else. Deletions go last, in the reverse order.
//  2. A worker renders the target's variant of the entry (package variants), and compares both with
//     the inventory. Equal hashes end here. An object for which a Customizer fails stays as it is.
//  3. The site's policy permits or refuses it, if the target has one.
//  4. One PATCH, conditional on the recorded UID, or on the absence of an object of this name.
//  5. The answer updates the inventory and is reported, with the fields that the target took off or
//     changed (altered.go). An error is classified (reason.go): reported at once or after some
//     tries, and tried again with jitter.
//
// # Removal
//
// A tombstone concerns the object whose UID is in the inventory. When a crash has lost the record,
// it concerns the object that carries the origin's UID. An object that carries another
// skerry.dev/origin-uid is left alone. The tombstone says how to remove:
//
//	Delete          deleted; what it owns follows in the background
//	KeepDependents  deleted; what it owns stays (kubectl delete --cascade=orphan), with a mark, so
//	                that it goes with its Namespace
//	Orphan          stays as it is; our labels, annotations and ownership of fields are removed,
//	                and no field is lost
//	ByPolicy        the parent compared, and does not know why the object is gone:
//	                whenPlacementDeleted in the annotation skerry.dev/sync decides; in doubt Orphan
//
// A source that was deleted and created again may overtake its tombstone. Then the object is
// changed, except what runs once: a Job or a Pod is made anew. So is what the target refuses to
// change as Invalid, or keeps as the earlier object was made; claims and volumes are left and
// reported. A workload of the group apps that selects the same Pods takes them over (replace.go). A
// definition that was made anew with another scope or kind is deleted first, with what it has of its
// spaces; what anybody else has there keeps it (redefine.go).
//
// An object that nobody has changed since it was written is deleted in one request, conditional on
// that version. Every other object is read first. The tombstone is forgotten only when the object
// is gone. Finalizers are awaited and named (WaitingForFinalizers), never removed.
//
// Never deleted: what the target needs to live (protected.go), and a Namespace or definition that
// existed before. One that still contains foreign objects is not deleted either (NotEmpty, with
// names). An object that is desired again before its deletion has ended is created again after that
// end. The end of such a deletion is no external delete (pendingdeletes.go).
//
// # Drift
//
// The target's metadata.managedFields records who owns which field. Whoever changes or removes a
// field that we applied takes it out of our entry, and nothing else does. The inventory has a hash
// of that entry from our last write. So a watch of metadata is enough to find drift of every kind,
// without a copy of the object and without a request. Only if the hash differs is the object read,
// once. whenDrifted then decides:
//
//   - Restore, the default: one forced apply sets our fields back; fields that others own beside
//     ours stay. A deleted object is created again. The first restore is immediate, later ones wait
//     longer, up to 5 minutes. From the third on the report names who and which field (Contested).
//   - Report: the report says Drifted, with fields and managers. Nothing is written. A new version
//     yields to the others, too (Conflict). Fields that are set back by hand become shared, and the
//     report ends.
//
// Retained fields are written when the object is created and not changed from then on. They are the
// retainFields of the policy, and spec.replicas while a HorizontalPodAutoscaler on the target
// scales the object, whether delivered or local. While such a field is still ours, an apply carries
// the object's present value, because an apply without it would remove it. When the autoscaler
// goes, replicas stay until the object changes. A kubectl scale on the target is drift. An autoscaler
// leaves a workload with zero replicas alone, so the object decides whether it has zero or some,
// unless minReplicas is zero. At a relay the autoscaler is the space's, and the relay's own center
// writes what it has set below. Of an autoscaler that was placed there the replicas are reported.
//
// # Objects that exist already
//
// whenAlreadyExists has three values: refuse (AlreadyExists), adopt if a dry run of the apply would
// change nothing, adopt always. An object that another space delivered is never adopted; the
// refusal names that space. The ServiceAccount default is the cluster's, and gets the fields that its
// space has of it where the namespace was made for that (defaultaccount.go). A relay uses an existing
// Namespace and never writes it. At a site the policy decides about it. One that is made again within
// moments after it has gone is looked at until the cluster has furnished it (furnish.go).
//
// # Run once
//
// A Job or Pod that was seen to have finished is not created again, whoever removed it. The same
// holds for a Job that its time to live removed while nobody watched. Deleted and created again in
// the space, it runs again, though nothing in it differs. If the parent knows that an object has
// ended, it sends it with the annotation skerry.dev/ended. A site that has lost its file then
// checks whether the object is still there, and does not create it again.
//
// Lock order: those of the gate (agent/site), then the locks of the inventory and of the clients.
// The locks of queue, tracks and remade never nest.
package apply
