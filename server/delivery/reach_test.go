package delivery

import (
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// reaching writes the Service web, which reaches all of its space as far as reach says.
func (c *center) reaching(reach v1alpha1.Reach) store.Key { return c.serviceOf(reach, "ClusterIP") }

func (c *center) serviceOf(reach v1alpha1.Reach, kind string) store.Key {
	k, of := key("", "services", "web"), meta("web")
	of["namespace"], of["generation"], of["labels"] = "app", 1, m{"app": "web"}
	if reach != "" {
		of["annotations"] = m{v1alpha1.AnnotationReach: string(reach)}
	}
	c.put(k, obj("v1", "Service", of, "spec", m{"selector": m{"app": "web"}, "type": kind}))
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
	synctest.Test(t, func(t *testing.T) {
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
		if at, _, has := c.d.Serving("a", service, uid); !has || !slices.Equal(at, []string{"b"}) {
			t.Errorf("a call of a goes to %v, %v", at, has)
		}
		if at, _, has := c.d.Serving("b", service, uid); !has || len(at) > 0 {
			t.Errorf("a call of b, which is where the Service is, goes to %v, %v", at, has)
		}
		for _, wrong := range []struct{ target, uid string }{{"c", uid}, {"a", "another"}} {
			if at, _, has := c.d.Serving(wrong.target, service, wrong.uid); has {
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
	})
}

// A workload moves away from where its space has more: the Service stays there for its name, and the move
// does not wait until it has gone, which it never does.
func TestAMoveLeavesTheName(t *testing.T) {
	for name, breaks := range map[string]bool{"MakeBeforeBreak": false, "BreakBeforeMake": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := shop(t)
				c.namespace("app", nil)
				c.namespace("front", nil)
				c.front("b")
				c.placement("p", 1, []any{"b"}, breakIf(breaks))
				web, service := c.appWeb(), c.reaching(v1alpha1.ReachSpace)
				c.eventually("it runs at b", func() bool { return c.has("b", web) && c.has("b", service) })
				c.report("b", web, nil)
				c.report("b", service, nil)
				moves := MovesOf(c.d)
				c.eventually("it rests", func() bool { return !moves(service) })
				c.placement("p", 2, []any{"a"}, breakIf(breaks))
				c.eventually("it moves", func() bool { return moves(service) })
				if breaks {
					c.eventually("it leaves b first", func() bool { return !c.has("b", web) })
					c.gone("b", web)
				}
				if !moves(service) || moves(placementOf("p")) {
					t.Error("it has not moved yet")
				}
				c.eventually("it comes to a", func() bool { return c.has("a", web) && c.has("a", service) })
				c.report("a", web, nil)
				c.report("a", service, nil)
				c.eventually("and has moved, but for its name", func() bool {
					return !c.has("b", web) && c.has("b", service) && c.annotation(web) == "a" &&
						slices.Equal(c.decided(placementOf("p")), []string{"a"}) && !moves(service)
				})
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

// A Service that goes along with a Deployment moves while that does.
func TestAServiceMovesWithItsDeployment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", m{v1alpha1.LabelTarget: "b"})
		web, service := c.web("b"), c.reaching(v1alpha1.ReachSpace)
		moves := MovesOf(c.d)
		c.eventually("both are there", func() bool { return c.has("b", web) && c.has("b", service) && !moves(service) })
		c.report("b", web, nil)
		c.report("b", service, nil)
		c.label(web, m{v1alpha1.LabelTarget: "a"})
		c.eventually("it moves", func() bool { return c.has("a", web) && c.has("a", service) && moves(service) })
		c.report("a", service, nil)
		c.report("a", web, nil)
		c.eventually("it has moved", func() bool { return !c.has("b", web) })
		c.gone("b", web)
		c.eventually("it rests", func() bool { return !moves(service) })
	})
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
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", m{v1alpha1.LabelTarget: "b"})
		c.namespace("front", nil)
		service, front := c.reaching(v1alpha1.ReachSpace), c.front("a")
		c.web("")
		c.eventually("the name is at a", func() bool { return c.has("a", service) })
		c.put(front, nil)
		c.eventually("it has left a", func() bool { return !c.has("a", service) && c.has("b", service) })
	})
}

// sent is what a target has been told of an object, nil for nothing and while the word on it is older than its body.
func (c *center) sent(target string, k store.Key) (o m) {
	told, has := c.d.Feed(target).Get(k)
	body, generation, err := c.d.Feed(target).Body(c.t.Context(), k)
	if !has || err != nil || store.HashBody(generation, body) != told.Hash || json.Unmarshal(body, &o) != nil {
		return nil
	}
	return o
}

// The nearest word counts: the Service's own, else its Namespace's, else its space's. What a site gets says it.
func TestWhoSaysThatANameReaches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", m{v1alpha1.LabelTarget: "b"})
		c.namespace("front", nil)
		service := c.reaching("")
		c.front("a")
		c.eventually("the Service is where it is", func() bool { return c.has("b", service) && !c.has("a", service) })
		says := func(what string, reaches bool) {
			t.Helper()
			c.eventually(what, func() bool {
				notes := fields.Map(c.sent("b", service), "metadata", "annotations")
				return notes != nil && c.has("a", service) == reaches && (notes[v1alpha1.AnnotationReach] == "Space") == reaches
			})
		}
		space := func(reach v1alpha1.Reach) {
			spec := m{"services": m{"reach": string(reach)}}
			c.put(rootKey("spaces", "shop"), obj("skerry.dev/v1alpha1", "Space", meta("shop"), "spec", spec))
		}
		namespace := func(reach v1alpha1.Reach) {
			of := meta("app")
			of["labels"] = m{v1alpha1.LabelTarget: "b"}
			if reach != "" {
				of["annotations"] = m{v1alpha1.AnnotationReach: string(reach)}
			}
			c.put(nsKey("app"), obj("v1", "Namespace", of))
		}
		space(v1alpha1.ReachSpace)
		says("its space says that it reaches", true)
		namespace(v1alpha1.ReachTarget)
		says("its Namespace says that it does not", false)
		c.reaching(v1alpha1.ReachSpace)
		says("the Service says that it does", true)
		c.reaching("")
		says("the Service says nothing any more", false)
		namespace("")
		says("its Namespace says nothing any more", true)
		c.restart()
		says("the same after a restart", true)
		space("")
		says("nobody says that it reaches", false)
	})
}

// Where a Service is only for its name, nobody comes in from outside. Where its Pods come, all of it comes.
func TestANameTakesNobodyIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.noDoors()
		c.namespace("app", nil)
		c.namespace("front", nil)
		c.front("b")
		c.placement("p", 1, []any{"a"}, nil)
		web, service := c.appWeb(), c.serviceOf(v1alpha1.ReachSpace, "LoadBalancer")
		types := func(a, b string) func() bool {
			return func() bool {
				at := func(target string) string { return fields.Clone(c.sent(target, service), "spec", "type") }
				return at("a") == a && at("b") == b
			}
		}
		c.eventually("it is a name at b", types("LoadBalancer", "ClusterIP"))
		c.report("a", web, nil)
		c.report("a", service, nil)
		c.restart()
		c.eventually("the same after a restart", types("LoadBalancer", "ClusterIP"))
		c.front("a")
		c.placement("p", 2, []any{"b"}, nil)
		c.eventually("all of it comes to b", types("LoadBalancer", "LoadBalancer"))
		c.report("b", web, nil)
		c.report("b", service, nil)
		c.eventually("and the name is left at a", types("ClusterIP", "LoadBalancer"))
		c.serviceOf(v1alpha1.ReachSpace, "ClusterIP")
		c.eventually("it is a name alone", types("ClusterIP", "ClusterIP"))
	})
}

// A Service that begins to reach its space, by the word of its Namespace, is at no moment more than a name where its
// Pods are not.
func TestANameIsNeverMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", m{v1alpha1.LabelTarget: "a"})
		c.namespace("front", nil)
		c.front("b")
		service := c.serviceOf("", "LoadBalancer")
		c.eventually("it is at a", func() bool { return c.has("a", service) && !c.has("b", service) })
		var looking sync.WaitGroup
		told := make(chan store.Hash, 100)
		stop := c.d.Feed("b").Watch(func() { // which may not read the feed itself
			looking.Go(func() {
				if e, has := c.d.Feed("b").Get(service); has && !e.Tombstone {
					told <- e.Hash
				}
			})
		})
		of := meta("app")
		of["labels"], of["annotations"] = m{v1alpha1.LabelTarget: "a"}, m{v1alpha1.AnnotationReach: "Space"}
		c.put(nsKey("app"), obj("v1", "Namespace", of))
		c.eventually("it is a name at b", func() bool {
			return fields.Clone(c.sent("b", service), "spec", "type") == "ClusterIP"
		})
		stop()
		looking.Wait()
		close(told)
		is, _ := c.d.Feed("b").Get(service)
		for hash := range told {
			if hash != is.Hash {
				t.Error("it was more than a name")
			}
		}
	})
}

// Whoever has the name of a Service alone is told which Pods it governs.
func TestANameTellsItsHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", m{v1alpha1.LabelTarget: "b"})
		c.namespace("front", nil)
		c.front("a")
		service := c.reaching(v1alpha1.ReachSpace)
		set := func(replicas int, service string) store.Key {
			k, of := key("apps", "statefulsets", "db"), meta("db")
			of["namespace"], of["generation"] = "app", 1
			c.put(k, obj("apps/v1", "StatefulSet", of, "spec", m{"replicas": replicas, "serviceName": service,
				"selector": m{"matchLabels": m{"app": "web"}}, "template": m{"metadata": m{"labels": m{"app": "web"}}}}))
			return k
		}
		hosts := func(want string) func() bool {
			return func() bool {
				var sent struct {
					Metadata struct{ Annotations map[string]string }
				}
				return c.has("a", service) && json.Unmarshal([]byte(c.bodyOf("a", service)), &sent) == nil &&
					sent.Metadata.Annotations[v1alpha1.AnnotationHosts] == want
			}
		}
		c.eventually("nobody has a host name", hosts(""))
		db := set(3, "web")
		c.eventually("three have one", hosts("db-{0..2}"))
		set(1, "web")
		c.eventually("one is left", hosts("db-{0..0}"))
		c.restart()
		c.eventually("the same after a restart", hosts("db-{0..0}"))
		set(2, "other")
		c.eventually("another Service governs them", hosts(""))
		set(2, "web")
		c.eventually("this one does again", hosts("db-{0..1}"))
		c.put(db, nil)
		c.eventually("they are gone", hosts(""))
	})
}
