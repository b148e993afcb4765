package delivery

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/store"
)

// doorsOf is the annotation of a stored object about its doors.
func (c *center) doorsOf(k store.Key) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	notes, _ := c.objects[k]["metadata"].(m)["annotations"].(m)
	text, _ := notes[v1alpha1.AnnotationOpenUntil].(string)
	return text
}

// reachingSpace says how the Services of the space reach it, and how long doors stay open.
func (c *center) reachingSpace(keep string) {
	services := m{"reach": "Space"}
	if keep != "" {
		services["keepEntry"] = keep
	}
	c.put(rootKey("spaces", "shop"), obj("skerry.dev/v1alpha1", "Space", meta("shop"), "spec",
		m{"defaultTargets": m{"count": 1}, "services": services}))
}

// noDoors has nothing stay open.
func (c *center) noDoors() {
	c.put(rootKey("spaces", "shop"), obj("skerry.dev/v1alpha1", "Space", meta("shop"), "spec",
		m{"defaultTargets": m{"count": 1}, "services": m{"keepEntry": "0s"}}))
}

// doors writes a Service with a load balancer, and an Ingress with a Secret of its own, that lead to the Deployment
// web.
func (c *center) doors() (service, ingress, cert store.Key) {
	service = c.along("", "services", "v1", "Service", "web", m{"app": "web"},
		m{"selector": m{"app": "web"}, "type": "LoadBalancer"})
	ingress = c.along("networking.k8s.io", "ingresses", "networking.k8s.io/v1", "Ingress", "web", m{"app": "web"},
		m{"defaultBackend": m{"service": m{"name": "web"}}, "tls": []any{m{"secretName": "cert"}}})
	cert = key("", "secrets", "cert")
	c.put(cert, obj("v1", "Secret", m{"name": "cert", "namespace": "app", "labels": m{"app": "web"}}))
	return service, ingress, cert
}

// Where callers come in stays open for a while after what answers has moved, with all that it needs, and no move waits
// for it. A restart forgets nothing of that.
func TestDoorsStayOpen(t *testing.T) {
	for name, move := range map[string]string{"MakeBeforeBreak": "", "BreakBeforeMake": "BreakBeforeMake"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := shop(t)
				c.reachingSpace("")
				c.namespace("app", nil)
				var moves map[string]any
				if move != "" {
					moves = m{"move": m{"type": move}}
				}
				place := func(generation int64, at string) {
					c.placement("p", generation, []any{at}, moves)
				}
				place(1, "a")
				web := c.appWeb()
				service, ingress, cert := c.doors()
				all := []store.Key{service, ingress, cert}
				at := func(target string, want bool) bool {
					return !slices.ContainsFunc(all, func(k store.Key) bool { return c.has(target, k) != want })
				}
				c.eventually("they are at a", func() bool { return c.has("a", web) && at("a", true) && at("b", false) })
				for _, k := range append(all, web) {
					c.reportIfHas("a", k)
				}
				place(2, "b")
				c.eventually("it has moved", func() bool {
					for _, k := range append(all, web) {
						c.reportIfHas("b", k)
					}
					if !c.has("a", web) {
						c.gone("a", web)
					}
					return c.has("b", web) && !c.has("a", web) && at("b", true) && c.annotation(service) == "b" &&
						slices.Equal(c.decided(placementOf("p")), []string{"b"})
				})
				if !at("a", true) || !strings.Contains(c.bodyOf("a", service), "LoadBalancer") {
					t.Error("nobody comes in at a any more")
				}
				c.eventually("it is noted", func() bool {
					return strings.HasPrefix(c.doorsOf(service), `{"a":"`) && c.doorsOf(service) == c.doorsOf(ingress)
				})
				if to, _, has := c.d.Serving("a", service, c.uidOf(service)); !has || !slices.Equal(to, []string{"b"}) {
					t.Errorf("callers at a are led to %v, %v", to, has)
				}
				for _, k := range []store.Key{service, ingress} {
					s, err := c.d.Review(t.Context(), "shop", v1alpha1.PlacementReviewSpec{Object: &v1alpha1.ReviewedObject{
						APIGroup: k.Group, Resource: k.Resource, Namespace: k.Namespace, Name: k.Name}})
					if err != nil || len(s.AlsoOpen) != 1 || s.AlsoOpen[0].Target != "a" ||
						!strings.Contains(c.doorsOf(k), s.AlsoOpen[0].Until.UTC().Format(time.RFC3339)) {
						t.Errorf("the review says %+v, %v", s.AlsoOpen, err)
					}
				}
				c.eventually("an Event says it", func() bool {
					all := c.toldOf("StaysOpen")
					return len(all) == 2 && strings.HasPrefix(all[0], "also open at a until ")
				})
				time.Sleep(30 * time.Minute)
				c.restart()
				c.eventually("a restart forgets nothing", func() bool { return at("a", true) && at("b", true) })
				time.Sleep(31 * time.Minute)
				c.eventually("an hour later it is closed", func() bool {
					return at("a", false) && at("b", true) && c.doorsOf(service) == "" && c.doorsOf(ingress) == ""
				})
			})
		})
	}
}

// Whoever wants a door closed closes it: the space, its user, and who wants its target to be empty.
func TestDoorsAreClosed(t *testing.T) {
	for name, end := range map[string]func(c *center, service, ingress store.Key){
		"the space has none": func(c *center, _, _ store.Key) { c.reachingSpace("0s") },
		"the user takes the annotations off": func(c *center, service, ingress store.Key) {
			c.change(service, m{"annotations": m{v1alpha1.AnnotationOpenUntil: nil}})
			c.change(ingress, m{"annotations": m{v1alpha1.AnnotationOpenUntil: nil}})
		},
		"they are deleted": func(c *center, service, ingress store.Key) {
			c.put(ingress, nil)
			c.put(service, nil)
		},
		"its target is drained": func(c *center, _, _ store.Key) {
			c.put(rootKey("synctargets", "a"), obj("skerry.dev/v1alpha1", "SyncTarget", meta("a"), "spec",
				m{"taints": []any{m{"key": v1alpha1.TaintDrain, "effect": "NoExecute"}}},
				"status", m{"conditions": []any{m{"type": "Connected", "status": "True"}}}))
		},
		"it is back": func(c *center, _, _ store.Key) { c.label(nsKey("app"), m{v1alpha1.LabelTarget: "a"}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := shop(t)
				c.reachingSpace("10m")
				c.namespace("app", m{v1alpha1.LabelTarget: "a"})
				web := c.web("")
				service, ingress, cert := c.doors()
				c.eventually("they are at a", func() bool { return c.has("a", web) && c.has("a", ingress) && c.has("a", cert) })
				c.label(nsKey("app"), m{v1alpha1.LabelTarget: "b"})
				moved := func(to, from string) func() bool {
					return func() bool {
						for _, k := range []store.Key{web, service, ingress, cert} {
							c.reportIfHas(to, k)
						}
						return c.has(to, web) && !c.has(from, web)
					}
				}
				c.eventually("it has moved", moved("b", "a"))
				c.eventually("it is noted", func() bool { return c.doorsOf(service) != "" && c.doorsOf(ingress) != "" })
				if !c.has("a", service) || !c.has("a", ingress) || !c.has("a", cert) {
					t.Fatal("nobody comes in at a any more")
				}
				end(c, service, ingress)
				if name == "it is back" {
					c.eventually("it is back", moved("a", "b"))
					c.eventually("and b stays open", func() bool {
						return strings.HasPrefix(c.doorsOf(service), `{"b":"`) && c.has("b", ingress) && c.has("a", ingress)
					})
					return
				}
				c.eventually("it is closed", func() bool {
					return !c.has("a", service) && !c.has("a", ingress) && (name == "they are deleted" || !c.has("a", cert))
				})
			})
		})
	}
}

// Each door closes in its own time, whatever opens meanwhile.
func TestDoorsCloseInTheirOwnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.target("c", nil)
		c.reachingSpace("")
		c.namespace("app", m{v1alpha1.LabelTarget: "a"})
		web := c.web("")
		service, ingress, cert := c.doors()
		c.eventually("they are at a", func() bool { return c.has("a", web) && c.has("a", ingress) })
		move := func(from, to string) {
			c.label(nsKey("app"), m{v1alpha1.LabelTarget: to})
			c.eventually("it moves to "+to, func() bool {
				for _, k := range []store.Key{web, service, ingress, cert} {
					c.reportIfHas(to, k)
				}
				return c.has(to, web) && !c.has(from, web)
			})
		}
		move("a", "b")
		time.Sleep(30 * time.Minute)
		move("b", "c")
		open := func(a, b bool) func() bool {
			return func() bool {
				return c.has("a", service) == a && c.has("a", ingress) == a && c.has("b", service) == b &&
					c.has("b", ingress) == b
			}
		}
		c.eventually("both are open", open(true, true))
		time.Sleep(31 * time.Minute)
		c.eventually("the first is closed", open(false, true))
		time.Sleep(30 * time.Minute)
		c.eventually("the second is closed", open(false, false))
		if c.doorsOf(service)+c.doorsOf(ingress) != "" {
			t.Error("the annotations are left")
		}
	})
}

// What reaches no space, and what leaves for no other target, is no door that stays.
func TestNoDoorsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", m{v1alpha1.LabelTarget: "a"})
		web := c.web("")
		service, ingress, _ := c.doors()
		c.eventually("they are at a", func() bool { return c.has("a", web) && c.has("a", ingress) })
		c.label(nsKey("app"), m{v1alpha1.LabelTarget: "b"})
		c.eventually("they have left", func() bool {
			for _, k := range []store.Key{web, service, ingress, key("", "secrets", "cert")} {
				c.reportIfHas("b", k)
			}
			return !c.has("a", web) && !c.has("a", service) && !c.has("a", ingress) && c.has("b", ingress)
		})
		if c.doorsOf(service) != "" {
			t.Error(c.doorsOf(service))
		}
	})
}

// A unit that breaks first does not wait for what stays on its old target, since others there need it.
func TestWhatOthersNeedIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", m{v1alpha1.LabelTarget: "a"})
		c.placement("p", 1, []any{"a"}, breakIf(true))
		shared := key("", "configmaps", "shared")
		c.put(shared, obj("v1", "ConfigMap", m{"name": "shared", "namespace": "app", "labels": m{"app": "web"}}))
		web, other := c.appWeb(), c.deployment("other", nil, "shared")
		c.eventually("all are at a", func() bool { return c.has("a", web) && c.has("a", other) && c.has("a", shared) })
		for _, k := range []store.Key{web, other, shared} {
			c.report("a", k, nil)
		}
		c.placement("p", 2, []any{"b"}, breakIf(true))
		c.eventually("it leaves first", func() bool { return !c.has("a", web) })
		c.gone("a", web)
		c.eventually("it comes to b, and what the other one needs stays", func() bool {
			return c.has("b", web) && c.has("b", shared) && c.has("a", shared) && c.has("a", other)
		})
	})
}

// A door stays open at a target that gets another name, whatever its user writes meanwhile.
func TestADoorAtARenamedTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.reachingSpace("")
		c.namespace("app", m{v1alpha1.LabelTarget: "a"})
		web := c.web("")
		service, ingress, cert := c.doors()
		c.eventually("they are at a", func() bool { return c.has("a", web) && c.has("a", ingress) })
		c.label(nsKey("app"), m{v1alpha1.LabelTarget: "b"})
		c.eventually("it moves", func() bool {
			for _, k := range []store.Key{web, service, ingress, cert} {
				c.reportIfHas("b", k)
			}
			return c.has("b", web) && !c.has("a", web) && c.doorsOf(service) != ""
		})
		c.renameTo("a", "z", 1)
		c.change(service, m{"annotations": m{"mine": "yes"}})
		c.put(rootKey("synctargets", "a"), nil)
		c.eventually("it is open by the new name", func() bool {
			to, _, has := c.d.Serving("z", service, c.uidOf(service))
			return has && slices.Equal(to, []string{"b"}) && c.has("z", service) && c.has("z", ingress) &&
				strings.HasPrefix(c.doorsOf(service), `{"z":"`)
		})
	})
}

// What is open at several targets is that as long as none of them closes: nothing is sent anew, or said anew.
func TestSeveralDoors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.target("c", nil)
		c.reachingSpace("")
		c.namespace("app", nil)
		c.placement("p", 1, []any{"a"}, nil)
		web := c.appWeb()
		service, ingress, cert := c.doors()
		for generation, at := range []string{"a", "b", "c"} {
			c.placement("p", int64(generation+1), []any{at}, nil)
			c.eventually("it is at "+at, func() bool {
				for _, k := range []store.Key{web, service, ingress, cert} {
					c.reportIfHas(at, k)
				}
				for _, before := range []string{"a", "b"} {
					if before != at && !c.has(before, web) {
						c.gone(before, web)
					}
				}
				return c.annotation(service) == at && slices.Equal(c.decided(placementOf("p")), []string{at})
			})
		}
		c.eventually("both are noted", func() bool { return strings.Count(c.doorsOf(service), "Z") == 2 })
		c.d.catalog.Lock()
		defer c.d.catalog.Unlock()
		o := c.d.catalog.Find(service)
		for range 100 {
			if at, news := catalog.Doors(c.d.catalog, o, o.On); news || !slices.Equal(at.List(), []string{"a", "b"}) {
				t.Fatalf("open at %v, news %v", at.List(), news)
			}
		}
	})
}
