// Package shrinking has maps that take memory for what is in them now, not for what ever was: Go's
// own maps never shrink, and grow while entries come and go though their number stays the same
// (four times as large after a hundred generations). Map is one; Index is one of values that hold
// their key themselves, which costs 24 bytes for each where a map with a store.Key in place costs
// 130. Neither locks, and no order is kept. List does the same for a slice. It is for what lives as
// long as the process and follows the number of objects; it is imported by store, tunnel and agent.
package shrinking
