package delivery

import (
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

const rbac = "rbac.authorization.k8s.io"

// opens has a target say which spaces it has opened.
func (c *center) opens(target string, controllers, clusterControllers []any) {
	m := meta(target)
	m["uid"] = "uid-" + rootKey("synctargets", target).String()
	c.put(rootKey("synctargets", target), obj("skerry.dev/v1alpha1", "SyncTarget", m, "status", map[string]any{
		"conditions": []any{map[string]any{"type": "Connected", "status": "True"}},
		"policy":     map[string]any{"controllers": controllers, "clusterControllers": clusterControllers},
	}))
}

// rights puts a Role and a binding of a ServiceAccount in the namespace app, and the same for the
// cluster.
func (c *center) rights() (role, binding, clusterRole, clusterBinding store.Key) {
	role, binding = key(rbac, "roles", "op"), key(rbac, "rolebindings", "op")
	clusterRole = store.Key{Space: "shop", Group: rbac, Resource: "clusterroles", Name: "op"}
	clusterBinding = store.Key{Space: "shop", Group: rbac, Resource: "clusterrolebindings", Name: "op"}
	subjects := []any{map[string]any{"kind": "ServiceAccount", "namespace": "app", "name": "op"}}
	inNamespace := func() map[string]any {
		m := meta("op")
		m["namespace"] = "app"
		return m
	}
	c.put(role, obj(rbac+"/v1", "Role", inNamespace()))
	c.put(binding, obj(rbac+"/v1", "RoleBinding", inNamespace(), "subjects", subjects))
	c.put(clusterRole, obj(rbac+"/v1", "ClusterRole", meta("op")))
	c.put(clusterBinding, obj(rbac+"/v1", "ClusterRoleBinding", meta("op"), "subjects", subjects))
	return role, binding, clusterRole, clusterBinding
}

func TestRightsGoWhereTheSiteHasOpenedTheSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		role, binding, clusterRole, clusterBinding := c.rights()
		is := func(target string, want bool, keys ...store.Key) {
			t.Helper()
			for _, k := range keys {
				if c.has(target, k) != want {
					t.Errorf("%s has %s: %v", target, k, !want)
				}
			}
		}
		web := c.deployment("web", nil, "")
		c.eventually("placed", func() bool { return c.has("a", web) })
		is("a", false, role, binding, clusterRole, clusterBinding)

		c.opens("a", []any{"shop"}, nil)
		c.opens("b", []any{"*"}, []any{"*"})
		is("a", true, role, binding)
		is("a", false, clusterRole, clusterBinding)
		is("b", false, role, binding, clusterRole, clusterBinding)
		c.eventually("it says where it is", func() bool { return c.annotation(role) == "a" })
		c.restart()
		is("a", true, role, binding)

		c.opens("a", []any{"shop"}, []any{"shop"})
		is("a", true, clusterRole, clusterBinding)
		c.opens("a", []any{"shop-b"}, []any{"bank"})
		is("a", false, role, binding, clusterRole, clusterBinding)
		c.opens("a", []any{"sh*"}, []any{"sh*"})
		is("a", true, role, binding, clusterRole, clusterBinding)

		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		c.eventually("on both", func() bool { return c.has("b", web) && c.has("b", role) && c.has("b", clusterBinding) })
		c.report("b", web, nil)
		c.eventually("they moved with it", func() bool {
			return !c.has("a", web) && !c.has("a", role) &&
				!c.has("a", clusterRole)
		})
		is("b", true, role, binding, clusterRole, clusterBinding)

		c.put(role, nil)
		is("b", false, role)
		c.put(web, nil)
		is("b", false, binding)
		is("b", true, clusterRole, clusterBinding) // the space's Namespace is there
		c.d.catalog.RLock()
		defer c.d.catalog.RUnlock()
		if n := len(c.d.catalog.Spaces["shop"].Namespaces["app"].Rights); n != 1 {
			t.Errorf("%d are indexed", n)
		}
	})
}

func TestWebhooksGoWhereTheSiteHasOpenedThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		opens := func(target string, spaces ...any) {
			m := meta(target)
			m["uid"] = "uid-" + rootKey("synctargets", target).String()
			c.put(rootKey("synctargets", target), obj("skerry.dev/v1alpha1", "SyncTarget", m, "status", map[string]any{
				"conditions": []any{map[string]any{"type": "Connected", "status": "True"}},
				"policy":     map[string]any{"webhooks": spaces, "controllers": []any{"bank"}},
			}))
		}
		hooks := func(name string, config map[string]any, resource string) store.Key {
			k := store.Key{Space: "shop", Group: "admissionregistration.k8s.io",
				Resource: "mutatingwebhookconfigurations", Name: name}
			c.put(k, obj("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", meta(name), "webhooks",
				[]any{map[string]any{
					"name": name, "clientConfig": config, "rules": []any{map[string]any{
						"apiGroups": []any{""}, "resources": []any{resource}, "operations": []any{"CREATE"}}},
				}}))
			return k
		}
		service := map[string]any{"service": map[string]any{"namespace": "app", "name": "hook"}}
		pods, url := hooks("pods", service, "pods"), hooks("url", map[string]any{"url": "https://x.org"}, "pods")
		maps := hooks("maps", service, "configmaps")
		web := c.deployment("web", nil, "")
		c.eventually("placed", func() bool { return c.has("a", web) })
		if c.has("a", pods) {
			t.Error("sent to a site that has not opened it")
		}
		opens("b", "*")
		opens("a", "shop-b", "bank")
		if c.has("a", pods) || c.has("b", pods) {
			t.Error("opened for another space, or where the space has nothing")
		}
		opens("a", "shop")
		if !c.has("a", pods) || c.has("a", url) || c.has("a", maps) {
			t.Errorf("pods %v, by url %v, of ConfigMaps %v", c.has("a", pods), c.has("a", url), c.has("a", maps))
		}
		c.restart()
		if !c.has("a", pods) {
			t.Error("lost by a restart")
		}
		hooks("pods", service, "configmaps")
		if c.has("a", pods) {
			t.Error("still there when it is not about Pods any more")
		}
		hooks("pods", service, "pods")
		opens("a")
		if c.has("a", pods) {
			t.Error("still there when the site has closed it")
		}
	})
}

func TestBindingsOfPeopleStayInTheSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		c.opens("a", []any{"*"}, []any{"*"})
		k := key(rbac, "rolebindings", "team")
		m := meta("team")
		m["namespace"] = "app"
		c.put(k, obj(rbac+"/v1", "RoleBinding", m, "subjects", []any{map[string]any{"kind": "User", "name": "alice"}}))
		web := c.deployment("web", nil, "")
		c.eventually("placed", func() bool { return c.has("a", web) })
		if c.has("a", k) {
			t.Error("a binding of a person was sent")
		}
	})
}
