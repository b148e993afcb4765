package delivery

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// prefixMark is the annotation skerry.dev/namespace-prefix of what a target gets; nil when there is
// none.
func (c *center) prefixMark(target string, k store.Key) any {
	c.t.Helper()
	body, _, err := c.d.Feed(target).Body(c.t.Context(), k)
	var o map[string]any
	if err != nil || json.Unmarshal(body, &o) != nil {
		c.t.Fatal("no body", err)
	}
	return fields.Map(o, "metadata", "annotations")[v1alpha1.AnnotationNamespacePrefix]
}

// Namespaces kube-* of a space have a prefix in any case, because a site has some of its own: that of
// the space, or one that is theirs alone.
func TestNamespacesOfTheSystemHaveAPrefix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for prefix, want := range map[string]any{"": store.SystemPrefix("shop"), "shop-": "shop-"} {
			c := shop(t)
			spec := map[string]any{"defaultTargets": map[string]any{"count": 1}}
			if prefix != "" {
				spec["namespaceMapping"] = map[string]any{"prefix": prefix}
			}
			c.put(rootKey("spaces", "shop"), obj("skerry.dev/v1alpha1", "Space", meta("shop"), "spec", spec))
			c.namespace("kube-system", map[string]any{v1alpha1.LabelTarget: "a"})
			k := store.Key{Space: "shop", Resource: "configmaps", Namespace: "kube-system", Name: "c"}
			m := meta("c")
			m["namespace"] = "kube-system"
			c.put(k, obj("v1", "ConfigMap", m))
			c.eventually("it is on a", func() bool { return c.has("a", k) })
			for _, on := range []store.Key{k, nsKey("kube-system")} {
				if got := c.prefixMark("a", on); got != want {
					t.Errorf("%s of a space with the prefix %q says %v", on, prefix, got)
				}
			}
		}
	})
}

// What a space with a namespaceMapping delivers says so, and what another one delivers does not,
// whatever a parent or a user has written on it.
func TestANamespaceMappingIsWrittenOnWhatASpaceDelivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, prefix := range []string{"", "shop-"} {
			c := shop(t)
			spec := map[string]any{"defaultTargets": map[string]any{"count": 1}}
			var want any
			if prefix != "" {
				spec["namespaceMapping"] = map[string]any{"prefix": prefix}
				want = prefix
			}
			c.put(rootKey("spaces", "shop"), obj("skerry.dev/v1alpha1", "Space", meta("shop"), "spec", spec))
			c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
			k := key("", "configmaps", "c")
			m := meta("c")
			m["annotations"] = map[string]any{v1alpha1.AnnotationNamespacePrefix: "bank-"}
			m["namespace"] = "app"
			c.put(k, obj("v1", "ConfigMap", m))
			c.eventually("it is on a", func() bool { return c.has("a", k) })
			for _, on := range []store.Key{k, nsKey("app")} {
				if got := c.prefixMark("a", on); got != want {
					t.Errorf("%s of a space with the prefix %q says %v", on, prefix, got)
				}
			}
		}
	})
}
