package delivery

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/store"
)

// edgeIngress writes an Ingress that sends to Service web, with a label of its own where target is not empty.
func (c *center) edgeIngress(name, target string) store.Key {
	var labels m
	if target != "" {
		labels = m{v1alpha1.LabelTarget: target}
	}
	return c.along("networking.k8s.io", "ingresses", "networking.k8s.io/v1", "Ingress", name, labels,
		m{"defaultBackend": m{"service": m{"name": "web"}}})
}

func (c *center) uidOf(k store.Key) string {
	o, _ := c.Get(c.t.Context(), k, "v1")
	return o["metadata"].(m)["uid"].(string)
}

// entered reports whether a target is told that callers are sent to a Service.
func (c *center) entered(target string, k store.Key) bool {
	return strings.Contains(c.bodyOf(target, k), `"skerry.dev/entered":"true"`)
}

// An Ingress with a place of its own has the name of its Service there, which leads to where that is.
func TestANameIsWhereCallersComeIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.noDoors()
		c.target("edge", nil)
		c.namespace("app", m{v1alpha1.LabelTarget: "b"})
		web, service, ingress := c.web(""), c.reaching(v1alpha1.ReachSpace), c.edgeIngress("web", "edge")
		named := func() bool {
			return c.has("edge", ingress) && c.has("edge", service) && c.has("edge", nsKey("app")) && !c.has("edge", web) &&
				!c.has("b", ingress) && c.has("b", service) && c.has("b", web) && !c.has("a", service)
		}
		c.eventually("the name is at the edge", named)
		c.eventually("both are told who comes", func() bool { return c.entered("edge", service) && c.entered("b", service) })
		if at, _, has := c.d.Serving("edge", service, c.uidOf(service)); !has || !slices.Equal(at, []string{"b"}) {
			t.Errorf("a call of the edge goes to %v, %v", at, has)
		}
		if s := c.saidScheduled(web); s.Reason == catalog.SelectsElsewhere {
			t.Errorf("the workload says %s", s.Message)
		}
		c.restart()
		c.eventually("the same after a restart", named)
		second := c.edgeIngress("more", "a")
		c.eventually("each Ingress has the name", func() bool { return c.has("a", second) && c.has("a", service) && named() == false })
		c.put(second, nil)
		c.gone("a", second)
		c.eventually("and only while it is there", named)
		c.edgeIngress("web", "")
		c.eventually("it goes along again", func() bool {
			c.reportIfHas("b", ingress)
			return c.has("b", ingress) && !c.has("edge", ingress) && !c.has("edge", service)
		})
		c.put(ingress, nil)
		c.eventually("nobody is sent to it", func() bool { return !c.entered("b", service) })
	})
}

// A Service with a place of its own answers there, and leads to where what it selects is.
func TestAServiceStaysWhereCallersComeIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.target("edge", nil)
		c.namespace("app", m{v1alpha1.LabelTarget: "b"})
		web := c.web("")
		service := c.along("", "services", "v1", "Service", "web", m{v1alpha1.LabelTarget: "edge"},
			m{"selector": m{"app": "web"}, "type": "NodePort"})
		c.eventually("it is at the edge alone", func() bool { return c.has("edge", service) && !c.has("b", service) })
		c.eventually("which cuts its workload off", func() bool {
			return c.saidScheduled(web).Reason == catalog.SelectsElsewhere
		})
		c.put(rootKey("spaces", "shop"), obj("skerry.dev/v1alpha1", "Space", meta("shop"), "spec",
			m{"defaultTargets": m{"count": 1}, "services": m{"reach": "Space"}}))
		c.eventually("it answers where its Pods are", func() bool {
			at, _, has := c.d.Serving("edge", service, c.uidOf(service))
			return has && slices.Equal(at, []string{"b"}) && c.has("b", service)
		})
		c.eventually("and nothing is cut off", func() bool {
			return c.saidScheduled(web).Reason != catalog.SelectsElsewhere
		})
		if !strings.Contains(c.bodyOf("edge", service), "NodePort") || strings.Contains(c.bodyOf("b", service), "NodePort") {
			t.Error("its node port is at the edge, and nowhere else")
		}
	})
}
