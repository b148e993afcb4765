// Package backlog bounds what open watches keep in memory, for each space by itself.
//
// A Ledger counts the watches that a space has open, and the bytes of the events that these have
// not sent yet. An Event that several watches wait to send is one object and counts once. A space
// that needs more than its bytes loses watches: first those whose readers take nothing, then those
// that keep large buffers, and in the end the one that needs more. A client whose watch ends begins
// another one where it was, as with any API server.
//
// The life of an event: a watch takes it with Hold, says Sending when its reader is about to get
// it, and Sent when it has. Close gives back all that a watch holds.
//
// It knows nothing of HTTP and of objects.
package backlog
