// Package summary turns what targets report into what people read in a space.
//
// Its nouns: a *report* is the last that a target said of one key. What an object *shows* is the
// status that is stored in the space. A *mirror* is an object of the space that shows one of a
// target: a Pod, ReplicaSet, Job, ControllerRevision, EndpointSlice or a claim.
//
// Life of a report:
//
//  1. Reported queues the key. It is taken once, however often it changes while it waits. Eight
//     writers work; an object on more than 8 targets gathers reports first, for at most 1 s. One
//     whose status was written ten times just now waits, for at most 1 s, and shows the last value
//     then (pacing.go). Nothing that decides waits for that: it reads the reports. But a relay
//     reports to its parent what is written. Mirrors do not wait.
//  2. The last reports of all targets of the object are read; of one on more than 8 targets only
//     those that are new, as long as they come (lastreports.go). One is shown as it is; of several
//     Merge makes one. A target that has not reported holds observedGeneration back, and counts of
//     replicas are those of the worst target, so that tools that compare them with the spec judge
//     rightly; where the replicas are shared out they are sums.
//  3. The status is written if the object shows another: one patch, guarded by the UID. The write
//     returns through the watch as an echo, and ends there. A status that somebody else wrote is
//     put right, but for custom resources and Ingresses: what a controller in the space writes is
//     its own.
//  4. What only a cluster's controllers know goes the same way (store.Filled): the revision of a
//     Deployment, the addresses and node ports of a Service, the volume of a claim, the replicas that
//     an autoscaler of the space has set. A report can name these fields and no other.
//
// An object that a decision has taken from its last target shows no status of targets any more, unless
// somebody else wrote it, or what it was has ended (unplaced.go).
//
// Mirrors have an owner reference to the mirror of what controls them at the target, a ReplicaSet
// say, else to the placed object. A Pod waits 3 s for it at most. Mirrors exist while the placed
// object is on at most 10 targets. A Pod or a claim that is being deleted at its target is so in the
// space, too. A placed Pod that is being deleted stays until no target reports it (ending.go).
//
// Only the center writes them. Where two targets have a Pod of one name, the target that
// was decided for first keeps the name, and the other Pod is called <name>.<target>. What a report
// leaves out because the Deployment has it is filled in from the desired body. A report against
// another version waits: the site sends it again when it has the present one.
//
// EndpointSlices name Pods as the space does. Endpoints are mirrors that join what all targets report
// of a Service; they are made here, of its slices.
//
// A deletion that a target cannot carry out is an Event of the space, again and again while it is so
// (leaving.go).
//
// Warnings of a target are Events of the space, at the Pod and at the placed object, with the
// target as source.host. They go with their report, or by the time to live of Events.
//
// A refusal is the condition skerry.dev/Synced=False, or the annotation skerry.dev/refused where
// the kind has no conditions, and an Event with target, reason and message. It also stands on the
// workloads whose pods name the object. What the center itself cannot send counts as refused by
// all targets.
//
// What a target's admission took off an object or changed is the condition skerry.dev/Altered=True, or
// the annotation skerry.dev/altered, and an Event. The object counts as applied.
//
// An outage of a target is shown after 20 s, by 100 objects a second, the youngest outage first.
// Statuses stay as they are. The end of an outage takes back what was written.
//
// Everything here is soft: it is made again from the store and the reports at each start.
//
// Lock order: the locks of Summary, pacing, lastReports, leaving, outages and unsent never nest, and
// nothing is called under them that does I/O.
package summary
