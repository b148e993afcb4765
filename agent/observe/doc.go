// Package observe keeps the reported feed: the status of each placed object on the target, its
// Pods, and the target's warnings about them.
//
// Its nouns are the [Observer], the watchers that it runs, one for each resource, and a record for
// each key of the feed. It is no cache of the target: of a placed object it keeps a compressed
// status, of other objects at most who owns them. It never writes to the target.
//
//	o := observe.New(cfg)
//	o.Bind(applier)
//	go o.Run(ctx)
//	<-o.Ready()  // from now on o.Feed() has all that the target had at the start
//
// The life of an event:
//
//  1. One watch runs for each resource that the inventory has. Pods, ReplicaSets and Jobs are
//     watched, too, when a placed object may own Pods; ControllerRevisions with a StatefulSet or
//     DaemonSet; claims when an object makes some. Kinds without a status are watched as metadata only.
//  2. An event is ours when its UID is in the inventory, or when the chain of controllers above it
//     ends there. A Pod that is seen before its chain is known waits by name, and is read again
//     when it is known, until the target answers.
//  3. What belongs to a placed object is reported beside it, without managedFields and without our
//     own labels and annotations. The status is kept compressed; [Observer.Feed] renders the report
//     when it is about to be sent. Rendering puts observedGeneration in terms of the source's
//     generation.
//  4. What controllers filled in is reported, too (filled.go): the revision of a Deployment, the
//     addresses and ports of a Service, the volume of a claim.
//  5. EndpointSlices of a Service are reported up to a limit (slices.go), and say that there are more.
//  6. The report of an object that was just written waits 80 ms for more. It is then rendered from
//     the latest state.
//
// An object that is being deleted, from here or by others, is not reported as applied. This begins
// before the request, and ends when the object is created again. A parent that wants the object
// back would otherwise take it for arrived.
//
// # Completeness
//
// [Observer.Ready] is closed when every watcher's first list is complete. Only then may the feed be
// compared with the parent's copy, because the parent drops every report that the feed lacks.
//
// # ReplicaSets
//
// The report of a ReplicaSet leaves out what its Deployment says: labels, selector and template.
// The parent fills these in from what it has sent (store/replicasetdiff). The report names the
// version that it was compared with, which is the one in the desired copy. When that version
// changes, ReplicaSets of older versions are reported whole. A parent whose Welcome does not say
// that it reads this form receives all of them whole.
//
// # Events
//
// Warnings of the target about a placed object, or about what belongs to it, are the least urgent
// reports. At most 10 of one placed object and 500 of the site are reported, the latest. A burst
// has 60 at most; then one goes in 30 s. A repetition is reported when its count has doubled, or
// half an hour later, so that a restart reports nothing again. Events leave the feed with their
// object, or when the target has forgotten them. Ordinary Events are not reported: they say no more
// than the status does. They are shown to who looks at one object (agent/view).
//
// # What is born here
//
// An Upsync of the desired copy says which objects of the target come into their space (upsync.go,
// born.go). A watch of metadata of its own shows what there is in the namespaces that were made for
// the space; what is selected is read, within the limits of package upsync, and reported under a key
// of its own. Nothing of that is written to disk: after a start it is read again before the feed is
// complete.
//
// # A restored target
//
// A newest resourceVersion below what was seen or written means that the target's history went
// back. The watcher checks this before each list, and before it resumes a watch that ended early.
// Then all of the kind is applied again, which changes nothing where it is equal, and listed again.
//
// # Locks
//
// Observer.mu is taken before refetcher.mu, and before the locks of the inventory, of the clients
// and of the feed. Applier.Seen is called under it.
package observe
