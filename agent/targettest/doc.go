// Package targettest is a small Kubernetes API over real HTTP for the agent's tests: server-side apply with owners of fields, conflicts, removal of
// fields and dry run, merge patch, get, delete with UID preconditions, finalizers and propagation, paged list, watch with resourceVersion, bookmarks
// and 410, CustomResourceDefinitions that become served, and refusals on demand. It counts every write, so that a test can say that nothing was
// rewritten. Lists are merged by name where all elements have one. Only tests import it.
package targettest
