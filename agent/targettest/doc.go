// Package targettest is a small Kubernetes API over real HTTP for the agent's tests: server-side apply with field removal, get, delete
// with UID preconditions and finalizers, paged list, watch with resourceVersion, bookmarks and 410, CustomResourceDefinitions
// that become served, and refusals on demand. It counts every write, so that a test can say that nothing was rewritten. Only tests import it.
package targettest
