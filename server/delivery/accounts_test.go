package delivery

import (
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

func (c *center) serviceAccount(name string, more m) store.Key {
	k := key("", "serviceaccounts", name)
	o := obj("v1", "ServiceAccount", m{"name": name, "namespace": "app"})
	for field, v := range more {
		o[field] = v
	}
	c.put(k, o)
	return k
}

func (c *center) secret(name string) store.Key {
	k := key("", "secrets", name)
	c.put(k, obj("v1", "Secret", m{"name": name, "namespace": "app"}))
	return k
}

func pulls(secret string) m { return m{"imagePullSecrets": []any{m{"name": secret}}} }

// The default ServiceAccount is where Pods run, with the Secret by which they pull images, as long as it
// says something of them.
func TestDefaultAccountGoesWithPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.target("c", nil)
		c.namespace("app", nil) // on a, where the Secret is in any case
		pull, account, web := c.secret("pull"), c.serviceAccount("default", nil), c.web("b")
		c.eventually("placed", func() bool { return c.has("b", web) })
		if c.has("b", account) || c.has("b", pull) {
			t.Error("an account that says nothing is the target's own")
		}
		c.serviceAccount("default", pulls("pull"))
		c.eventually("with its Secret", func() bool { return c.has("b", account) && c.has("b", pull) })
		c.web("c")
		c.eventually("on both while it moves", func() bool { return c.has("c", account) && c.has("c", pull) })
		c.report("c", web, nil)
		c.eventually("it leaves with the last Pods", func() bool { return !c.has("b", account) && !c.has("b", pull) })
		c.restart()
		if !c.has("c", account) || !c.has("c", pull) || c.has("b", account) || c.has("b", pull) {
			t.Error("not so after a restart")
		}
		c.serviceAccount("default", m{"automountServiceAccountToken": false})
		c.eventually("it still says something, and pulls nothing", func() bool { return c.has("c", account) && !c.has("c", pull) })
		c.serviceAccount("default", nil)
		c.eventually("gone", func() bool { return !c.has("c", account) && c.has("c", web) })
	})
}

// The Secrets of a ServiceAccount are where the Pods are that have it.
func TestSecretsOfAnAccountGoAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		pull, account := c.secret("pull"), c.serviceAccount("runner", pulls("pull"))
		web := key("apps", "deployments", "web")
		c.put(web, obj("apps/v1", "Deployment", m{"name": "web", "namespace": "app", "generation": 1,
			"labels": m{v1alpha1.LabelTarget: "b"}}, "spec", m{"template": m{"spec": m{"serviceAccountName": "runner"}}}))
		c.eventually("placed", func() bool { return c.has("b", web) && c.has("b", account) && c.has("b", pull) })
		c.serviceAccount("runner", nil)
		c.eventually("it pulls nothing any more", func() bool { return c.has("b", account) && !c.has("b", pull) })
		c.serviceAccount("runner", pulls("pull"))
		c.eventually("again", func() bool { return c.has("b", pull) })
		c.put(web, nil)
		c.eventually("gone with it", func() bool { return !c.has("b", account) && !c.has("b", pull) })
	})
}
