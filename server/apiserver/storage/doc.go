// Package storage puts the objects of all spaces into one store. Storages makes upstream's storage
// of each resource: one client, one cache over all spaces, and the space in the key. Where one
// object lies:
//
//	space team, Deployment shop/web   ->   /registry/deployments/team/shop/web
//
// The life of a write of it:
//
//  1. The REST storage of Deployments calls with the key /deployments/shop/web. The space comes
//     from the request's context; a context without one gets an error, never a default.
//  2. A new object needs room: Quota reserves it. An imported one gets its identity.
//  3. etcd3's storage writes it, encrypted by Encryption.
//  4. What spaces lend each other is looked at again by Lending. The write is taken back if it does
//     not hold.
//  5. Changes gives it to the center's own parts, in the order of revisions. The cache gives it to
//     the watches.
//
// A cache over all spaces must know the key of an object, and has only the decoded object. So
// whoever reads across spaces finds the key in metadata.selfLink; who reads in one space never sees
// it.
//
// Custom resources and Events have no cache. A list of them is read from the store, a watch is fed
// by it.
//
// Lock order: storeWatches.mu, storeWatch.mu, subscription.mu.
package storage
