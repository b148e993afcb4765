// Package kine is a center's own database: SQLite behind kine's etcd interface, all in this
// process. Open gives one etcd client, whose reads and writes are calls and whose watches have an
// in-memory connection; server/apiserver builds its storage on it. Acknowledged writes are on disk
// (synchronous=FULL), old revisions are compacted, and the data carries the Incarnation that tells
// agents whether they face the same center as before. It knows nothing of Kubernetes objects. Only
// package server and what is below it import it.
package kine
