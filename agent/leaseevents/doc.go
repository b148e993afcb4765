// Package leaseevents tells those who look at a site with kubectl what the end of its lease has
// stopped there: by an Event at the cluster about each object, and one when that runs again.
//
// Life of an Event:
//
//  1. Began says that the lease has ended, and why. Stopped says of an object that it must not run. The
//     first time in a lease's end it gets a Warning with the reason LeaseEnded.
//  2. While the lease has ended the Event is written again every RepeatEvery, because a cluster forgets
//     Events after an hour.
//  3. Renewed says that the lease holds again. Started says of an object that it may run. If it had
//     been stopped it gets an Event with the reason LeaseRenewed.
//
// An Event's name follows from its object and the end of the lease, so a restart of the agent writes
// none twice. At most MaxObjects objects have Events. What is beyond that has one Event of its
// Namespace, for MaxNamespaces of them.
//
// Nothing waits for an Event: Recorder queues them, and Run writes them one by one. An agent that may
// not write them says so once in its log.
package leaseevents
