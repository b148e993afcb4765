package delivery

import (
	"slices"
	"testing"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// reaching writes the Service web, which reaches all of its space as far as reach says.
func (c *center) reaching(reach string) store.Key {
	k, of := key("", "services", "web"), meta("web")
	of["namespace"], of["generation"], of["labels"] = "app", 1, m{"app": "web"}
	if reach != "" {
		of["annotations"] = m{v1alpha1.AnnotationReach: reach}
	}
	c.put(k, obj("v1", "Service", of, "spec", m{"selector": m{"app": "web"}}))
	return k
}

// front writes a Deployment of another namespace, front, which has a label of its own.
func (c *center) front(target string) store.Key {
	k, of := key("apps", "deployments", "front"), meta("front")
	k.Namespace = "front"
	of["namespace"], of["generation"], of["labels"] = "front", 1, m{v1alpha1.LabelTarget: target}
	c.put(k, labelled(of, m{"app": "front"}))
	return k
}

// A name is where its space runs pods, in whatever namespace, and is no place of the Service.
func TestANameIsWhereItsSpaceRunsPods(t *testing.T) {
	c := shop(t)
	c.target("c", nil)
	c.namespace("app", m{v1alpha1.LabelTarget: "b"})
	c.namespace("front", nil)
	web, service, front := c.web(""), c.reaching(v1alpha1.ReachSpace), c.front("a")
	named := func(target string) bool { return c.has(target, service) && c.has(target, nsKey("app")) }
	once := func() bool {
		return c.has("b", web) && named("a") && named("b") && !named("c") && !c.has("c", nsKey("app")) &&
			c.annotation(service) == "b" && !c.has("a", web)
	}
	c.eventually("the name is at a, the Service at b", once)
	uid := func() string {
		o, _ := c.Get(t.Context(), service, "v1")
		return o["metadata"].(m)["uid"].(string)
	}()
	if at, has := c.d.Serving("a", service, uid); !has || !slices.Equal(at, []string{"b"}) {
		t.Errorf("a call of a goes to %v, %v", at, has)
	}
	if at, has := c.d.Serving("b", service, uid); !has || len(at) > 0 {
		t.Errorf("a call of b, which is where the Service is, goes to %v, %v", at, has)
	}
	for _, wrong := range []struct{ target, uid string }{{"c", uid}, {"a", "another"}} {
		if at, has := c.d.Serving(wrong.target, service, wrong.uid); has {
			t.Errorf("a call of %s for the Service with UID %s goes to %v", wrong.target, wrong.uid, at)
		}
	}
	c.restart()
	c.eventually("the same after a restart", once)

	c.reaching("")
	c.eventually("without the annotation it is where it is", func() bool { return !c.has("a", service) && c.has("b", service) })
	c.eventually("nor is its Namespace anywhere else", func() bool { return !c.has("a", nsKey("app")) })
	c.reaching(v1alpha1.ReachSpace)
	c.eventually("with it, it is back", once)

	c.front("c")
	c.eventually("the name goes before the pods are there", func() bool { return named("c") && named("a") })
	c.report("c", front, nil)
	c.eventually("and leaves with them", func() bool { return !c.has("a", service) && !c.has("a", nsKey("app")) && named("c") })
}

// A workload moves away from where its space has more: the Service stays there for its name, and the move
// does not wait until it has gone, which it never does.
func TestAMoveLeavesTheName(t *testing.T) {
	for name, breaks := range map[string]bool{"MakeBeforeBreak": false, "BreakBeforeMake": true} {
		t.Run(name, func(t *testing.T) {
			c := shop(t)
			c.namespace("app", nil)
			c.namespace("front", nil)
			c.front("b")
			c.placement("p", 1, []any{"b"}, breakIf(breaks))
			web, service := c.appWeb(), c.reaching(v1alpha1.ReachSpace)
			c.eventually("it runs at b", func() bool { return c.has("b", web) && c.has("b", service) })
			c.report("b", web, nil)
			c.report("b", service, nil)
			c.placement("p", 2, []any{"a"}, breakIf(breaks))
			if breaks {
				c.eventually("it leaves b first", func() bool { return !c.has("b", web) })
				c.gone("b", web)
			}
			c.eventually("it comes to a", func() bool { return c.has("a", web) && c.has("a", service) })
			c.report("a", web, nil)
			c.report("a", service, nil)
			c.eventually("and has moved, but for its name", func() bool {
				return !c.has("b", web) && c.has("b", service) && c.annotation(web) == "a" &&
					slices.Equal(c.decided(placementOf("p")), []string{"a"})
			})
		})
	}
}

func breakIf(breaks bool) map[string]any {
	if breaks {
		return m{"move": m{"type": "BreakBeforeMake"}}
	}
	return nil
}

// appWeb writes the Deployment web with the label that Placements of the tests select.
func (c *center) appWeb() store.Key {
	k, of := key("apps", "deployments", "web"), meta("web")
	of["namespace"], of["generation"], of["labels"] = "app", 1, m{"app": "web"}
	c.put(k, labelled(of, m{"app": "web"}))
	return k
}

// A target whose pods of the space go all at once keeps no name.
func TestANameLeavesWithTheLastPod(t *testing.T) {
	c := shop(t)
	c.namespace("app", m{v1alpha1.LabelTarget: "b"})
	c.namespace("front", nil)
	service, front := c.reaching(v1alpha1.ReachSpace), c.front("a")
	c.web("")
	c.eventually("the name is at a", func() bool { return c.has("a", service) })
	c.put(front, nil)
	c.eventually("it has left a", func() bool { return !c.has("a", service) && c.has("b", service) })
}
