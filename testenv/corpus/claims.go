package corpus

import (
	"slices"
	"strings"
	"sync"
)

// claims keep bundles apart that would share something of a cluster: one that removes a definition takes
// the other's objects with it.
type claims struct {
	mu    sync.Mutex
	freed *sync.Cond
	held  map[string]bool
}

func newClaims() *claims {
	c := &claims{held: map[string]bool{}}
	c.freed = sync.NewCond(&c.mu)
	return c
}

// take waits until nobody has any of the names, and then has them all until release is called.
func (c *claims) take(names []string) (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for slices.ContainsFunc(names, func(n string) bool { return c.held[n] }) {
		c.freed.Wait()
	}
	for _, n := range names {
		c.held[n] = true
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, n := range names {
			delete(c.held, n)
		}
		c.freed.Broadcast()
	}
}

// sharedNames are what objects have in common with those of other bundles: namespaces that they name, groups of
// custom resources, and objects that may belong to no namespace.
func sharedNames(ids []identity) (names []string) {
	for _, id := range ids {
		group, _, _ := strings.Cut(id.apiVersion, "/")
		if strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") {
			names = append(names, "group "+group)
		}
		if id.kind == "CustomResourceDefinition" {
			_, defined, _ := strings.Cut(id.name, ".")
			names = append(names, "group "+defined)
		}
		if id.namespace != "" && !slices.Contains(kept, id.namespace) {
			names = append(names, "namespace "+id.namespace)
		} else {
			names = append(names, id.kind+" "+id.namespace+"/"+id.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
