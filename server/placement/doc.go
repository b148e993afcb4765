// Package placement decides where objects go. It is pure: plain values in, a decision out, no clock, no client and no
// lock, and equal input gives equal output. It knows which kinds travel (ClassOf, Excluded), which Placement speaks
// for an object (Resolve), which targets a wish names (Choose), how a decision changes without an outage (Next), what a report says
// of an object's progress (Judge), and what a pod template needs beside it (References).
// delivery feeds it with the center's data and carries the decisions out; summary uses Judge. Nothing else imports it.
package placement
