// Package storetest holds the suite that every store.Sink passes, and Memory, a Sink without a disk
// for the tests of other packages. It is imported by tests only.
package storetest
