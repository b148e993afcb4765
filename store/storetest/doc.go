// Package storetest is for tests: Run is the suite that every store.Sink passes, Memory is a Sink
// without a disk, SmallDisk a file system that fills up, and StartPostgres a PostgreSQL of the
// test's own.
package storetest
