// Package storetest helps to test stores. It has the conformance suite that every store.Sink passes:
//
//	func TestSink(t *testing.T) {
//		storetest.Run(t, func(t *testing.T, o storetest.Options) (storetest.Sink, func() storetest.Sink) {
//			path := filepath.Join(t.TempDir(), "agent.db")
//			return open(path, o), func() storetest.Sink { return open(path, o) } // as after a restart
//		})
//	}
//
// It also has [Memory], a Sink without a disk; SmallDisk, a file system that fills up; and
// StartPostgres, a PostgreSQL of the test's own. These two are for Linux alone. [OtherProcess] runs a test
// in a process of its own.
package storetest
