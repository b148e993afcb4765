// Package kine is a center's own database behind etcd's interface: a SQLite file, or a PostgreSQL
// database that several replicas share.
//
//	s, err := kine.Open(ctx, kine.Config{Dir: dir})
//	defer s.Close()
//	resp, err := s.Client().OptimisticPut(ctx, key, value, 0, kubernetes.PutOptions{})
//
// The life of a write to a file:
//
//  1. The etcd client calls kine's etcd service directly (direct.go), which calls backend.
//  2. backend reads the key's newest row, and gives the write to its committer.
//  3. groupCommit waits for the disk. All writes that wait stand together in the next transaction,
//     which is synced (synchronous=FULL). Each has its own revision or its own error.
//  4. Watches and watermarks are told, from memory. Then the write is acknowledged.
//  5. Once it is superseded, a compaction removes it: after 5 minutes, but for the last 1,000
//     revisions.
//
// In PostgreSQL inserter writes each row by itself, and poller reads what all replicas write.
//
// From kine come the etcd service, the statements that count, and the end of leases. The rest is our
// own: what a write returns must be true after a power cut, and no read may be less than it says.
// The data carries the Incarnation and the Eras by which agents recognise a restored backup.
//
// Copy makes a file of any datastore, and Restore fills a shared one of a file.
//
// Lock order: groupCommit.turn, groupCommit.mu, watchStream.mu, feed.mu. All others are taken
// alone.
package kine
