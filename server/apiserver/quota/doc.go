// Package quota counts what spaces and namespaces hold, and refuses what would be more than they
// may.
//
// Usage keeps a space within Space.spec.quota. One object of a user:
//
//	written, err := usage.Reserve(ctx, key) // 403 when the space is full
//	revision, err := write(obj)
//	written(revision)                       // 0 where the write failed, which gives the room back
//	usage.Apply(w)                          // the write itself, from the store: now it is counted
//
// Plugin charges the ResourceQuotas of a namespace before a write, and Counter counts the namespace
// again a second after one, which puts right what was refused after all, deleted, or written by the
// center. LimitRanges fills in and checks bare Pods and claims. What the center itself writes
// counts, and is never refused.
package quota
