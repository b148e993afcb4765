// Package targettest is a small Kubernetes API over real HTTP for the agent's tests.
//
//	s := targettest.New(t)                    // ends with the test
//	access := target.Cluster(s.Config())
//	s.Refuse(func(method, plural, name string) *targettest.Refusal { ... })
//	if n := s.Changes(); n != 1 { ... }       // how many writes changed something
//
// It serves server-side apply with field owners, conflicts, removal of fields and dry run. It
// serves merge patch, get, and delete with UID preconditions, finalizers and propagation. It serves
// paged lists, and watches with resourceVersion, bookmarks and 410. CustomResourceDefinitions
// become served. Refusals come on demand. It counts every write, so that a test can assert that
// nothing was rewritten.
//
// [Children] are the targets below a relay: a function answers what is asked of them.
//
// It is no validator: it knows no schemas. It merges lists by name where all elements have one.
package targettest
