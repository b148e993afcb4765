// Package customize makes of an object in a space the bytes that travel to a target. It is pure
// and idempotent.
//
// Render takes out what belongs to the center: status, the bookkeeping of the API server, what
// controllers and allocators of a cluster fill in, and the center's own annotations. It puts in
// where the object comes from. It writes canonical JSON: equal objects give equal bytes, so a hash
// tells whether there is anything to send.
//
// Chosen tells what a target has chosen from what a user wishes: the values that the annotation
// skerry.dev/allocated has. What was read from a space and is written back with the annotation that
// it had then is no wish.
package customize
