// Package goroutines lets who helps see what an agent does that seems to hang: the stacks of its
// goroutines, for `skerry support-bundle`. A center has them behind its API; an agent has no port.
//
// The agent listens on a Unix socket in its data directory, which only its own user and root may
// enter. Whoever connects is sent the stacks, and nothing is read from it. A stack has names of
// functions, lines of code and numbers, and no value that a function was given.
package goroutines
