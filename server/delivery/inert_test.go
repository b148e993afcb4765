package delivery

import (
	"strings"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// allows has a site say which kinds it allows beyond the default.
func (c *center) allows(target string, kinds ...any) {
	c.t.Helper()
	k := rootKey("synctargets", target)
	c.mu.Lock()
	o := c.objects[k]
	c.mu.Unlock()
	c.put(
		k,
		obj(
			"skerry.dev/v1alpha1",
			"SyncTarget",
			o["metadata"].(map[string]any),
			"status",
			map[string]any{
				"conditions": []any{map[string]any{"type": "Connected", "status": "True"}},
				"policy":     map[string]any{"kinds": kinds}},
		),
	)
}

// An inert quota or policy follows its Namespace, or its space, to the sites that allow the kind.
func TestInertObjectsGoWhereTheSiteAllowsTheKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		c.namespace("other", map[string]any{v1alpha1.LabelTarget: "b"})
		c.deployment("web", nil, "")
		quota := key("", "resourcequotas", "q")
		policy := store.Key{
			Space:    "shop",
			Group:    "admissionregistration.k8s.io",
			Resource: "validatingadmissionpolicies",
			Name:     "p",
		}
		put := func(k store.Key, apiVersion, kind string, labels map[string]any) {
			m := meta(k.Name)
			if m["labels"] = labels; k.Namespace != "" {
				m["namespace"] = k.Namespace
			}
			c.put(k, obj(apiVersion, kind, m))
		}
		inert := map[string]any{v1alpha1.LabelInert: "true"}
		put(quota, "v1", "ResourceQuota", inert)
		put(policy, "admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", inert)
		c.eventually(
			"the Deployment is placed",
			func() bool { return c.has("a", key("apps", "deployments", "web")) },
		)
		if c.has("a", quota) || c.has("a", policy) {
			t.Error("they go to a site that does not allow them")
		}
		c.allows("a", "resourcequotas", "*.admissionregistration.k8s.io")
		c.allows("b", "resourcequotas")
		c.eventually(
			"at the site that allows them",
			func() bool { return c.has("a", quota) && c.has("a", policy) },
		)
		explained := func() string {
			_, err := c.d.Review(t.Context(), "shop", v1alpha1.PlacementReviewSpec{Object: &v1alpha1.ReviewedObject{
				Resource: "resourcequotas", Namespace: quota.Namespace, Name: "q"}})
			return err.Error()
		}
		if why := explained(); !strings.Contains(why, "allow.kinds") || !strings.HasSuffix(why, "now that is a") {
			t.Errorf("explained by: %s", why)
		}
		if c.has("b", quota) || c.has("b", policy) {
			t.Error("they go where their Namespace is not, or where they are not allowed")
		}
		c.restart()
		if !c.has("a", quota) || !c.has("a", policy) {
			t.Error("a restart takes them away")
		}
		put(quota, "v1", "ResourceQuota", nil)
		c.eventually(
			"one that acts in the space leaves",
			func() bool { return !c.has("a", quota) && c.has("a", policy) },
		)
		if why := explained(); !strings.Contains(why, "it acts in the space") {
			t.Errorf("one that acts in the space is explained by: %s", why)
		}
		c.allows("a")
		c.eventually("what is not allowed any more leaves", func() bool { return !c.has("a", policy) })
	})
}
