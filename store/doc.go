// Package store is the vocabulary of what a tier remembers: Key, Entry, Position, Digest, the Feed
// that a sender publishes and the Sink that a receiver keeps. It does no I/O. Durable
// implementations are store/bolt (a receiver's copy in one file) and store/kine (the center's own
// database); store/storetest is the suite that every Sink passes. Everything else in the project
// may import it, and it imports nothing of the project.
package store
