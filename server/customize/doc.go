// Package customize makes of an object in a space the bytes that travel to a target. It is pure and idempotent: Render takes out
// what belongs to the center (status, bookkeeping of the API server, what controllers and allocators of the receiving
// cluster fill in, and the center's own marks), puts in where the object comes from, and writes canonical JSON: equal objects give
// equal bytes, so that a hash tells whether there is anything to send. delivery imports it, and what
// has to tell what a target has chosen from what a user wishes (Chosen): apiserver, summary and admin.
package customize
