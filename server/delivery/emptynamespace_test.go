package delivery

import (
	"testing"
	"testing/synctest"
)

// An empty Namespace is decided whether its space was known when it was written, or came to be known
// after: a relay gets both from its parent at once. The Namespaces default and kube-system, which every
// space has, are decided when something is in them.
func TestAnEmptyNamespaceOfASpaceThatIsNotKnownYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.target("a", nil)
		c.run()
		c.namespace("default", nil)
		c.namespace("kube-system", nil)
		c.namespace("app", nil)
		c.space("shop")
		c.eventually("the namespace is in the feed", func() bool { return c.has("a", nsKey("app")) })
		c.namespace("later", nil)
		c.eventually("the next one is in the feed", func() bool { return c.has("a", nsKey("later")) })
		for _, name := range []string{"default", "kube-system"} {
			if c.annotation(nsKey(name)) != "" || c.has("a", nsKey(name)) {
				t.Errorf("namespace %s is placed, and nobody uses it", name)
			}
		}
	})
}
