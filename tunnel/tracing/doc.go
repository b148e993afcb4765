// Package tracing follows single changes from the request that makes them to the write at the last
// target, as one trace of OpenTelemetry.
//
// A [Follower] is one tier's part. The life of a sampled change:
//
//  1. The kube API marks the request (Follow). Its storage calls Writing with the key; the context
//     of the span is kept, by key.
//  2. The sender of a target's feed asks To(target) for each entry. The first revision that carries
//     the key after the write is followed to all targets, by a span "skerry.send" each. It ends when
//     the target has stored the entry durably.
//  3. Its IDs cross with the entry (frame Trace). The receiver calls Received.
//  4. The agent calls Apply around its try to write. The span "skerry.apply" goes on into the
//     target's API by the header traceparent. Where that is a relay's, the life begins anew.
//
// What is kept is bounded in number and time, and lost with the process: a change that a target gets
// later is not followed. A nil Follower follows nothing, which costs nothing.
package tracing
