package delivery

import (
	"slices"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// relay makes a target a relay that has a site.
func (c *center) relay(name string) { c.relayThat(name, m{}) }

func (c *center) relayThat(name string, spec m) {
	c.put(rootKey("synctargets", name), obj("skerry.dev/v1alpha1", "SyncTarget", meta(name), "spec", spec, "status", m{
		"relay": true, "below": m{"targets": float64(1)},
		"conditions": []any{m{"type": "Connected", "status": "True"}}}))
}

func (c *center) uid(k store.Key) string {
	o, err := c.Get(c.t.Context(), k, "v1")
	if err != nil {
		c.t.Fatal(err)
	}
	return fields.Clone(o, "metadata", "uid")
}

// serves reports whether a call of a target for a Service goes to these targets, and then to the parent's Service.
func (c *center) serves(target string, k store.Key, uid, above string, want ...string) bool {
	at, over, has := c.d.Serving(target, k, uid)
	slices.Sort(at)
	return has && over == above && slices.Equal(at, want)
}

// A relay below which a space runs pods gets the names of the space's Services, and is a place of those whose
// workload is there, as any other target.
func TestANameComesToARelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.noDoors()
		c.relay("b")
		c.namespace("app", m{v1alpha1.LabelTarget: "a"})
		c.namespace("front", nil)
		web := c.web("")
		service := c.serviceOf(v1alpha1.ReachSpace, "NodePort")
		c.eventually("the Service is at a", func() bool { return c.has("a", service) && !c.has("b", service) })
		c.front("b")
		c.eventually("its name is at the relay", func() bool {
			return c.has("b", nsKey("app")) && fields.Clone(c.sent("b", service), "spec", "type") == "ClusterIP" &&
				fields.Clone(c.sent("a", service), "spec", "type") == "NodePort" && c.annotation(service) == "a"
		})
		uid := c.uid(service)
		if !c.serves("b", service, uid, "", "a") || !c.serves("a", service, uid, "") {
			t.Error("a call of the relay goes to a, and none of a to the relay")
		}
		c.front("a")
		c.namespace("app", m{v1alpha1.LabelTarget: "b"})
		c.eventually("the workload comes to the relay", func() bool {
			return c.has("b", web) && fields.Clone(c.sent("b", service), "spec", "type") == "NodePort"
		})
		c.report("b", web, nil)
		c.report("b", service, nil)
		c.eventually("and leaves its name", func() bool {
			return fields.Clone(c.sent("a", service), "spec", "type") == "ClusterIP" && c.annotation(service) == "b"
		})
		if !c.serves("a", service, uid, "", "b") || !c.serves("b", service, uid, "") {
			t.Error("a call of a goes to the relay, and none of the relay to a")
		}
		c.relayThat("b", m{"allow": m{"services": false}})
		c.eventually("an admin closes what is below the relay", func() bool { return c.serves("a", service, uid, "") })
		if WaysOf(c.d).Closes("b", "logs") || WaysOf(c.d).Closes("a", "services") || !WaysOf(c.d).Closes("b", "services") {
			t.Error("nothing else is closed")
		}
		c.relayThat("b", m{"allow": m{"services": true, "logs": false}})
		c.eventually("and opens it again", func() bool { return c.serves("a", service, uid, "", "b") })
		if !WaysOf(c.d).Closes("b", "logs") || WaysOf(c.d).Closes("b", "exec") || WaysOf(c.d).Closes("nosuch", "logs") {
			t.Error("logs alone are closed")
		}
	})
}

// What a relay has of its parent answers at all of the relay's sites where the space runs pods. Whoever calls there
// may be led to the parent, by the UID that the Service has there.
func TestARelayKnowsWhatItsParentHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", m{v1alpha1.LabelTarget: "a"})
		c.namespace("front", nil)
		c.front("b")
		k, of := key("", "services", "web"), meta("web")
		of["namespace"], of["generation"] = "app", 1
		of["annotations"] = m{v1alpha1.AnnotationOrigin: "shop/", v1alpha1.AnnotationOriginUID: "u-above",
			v1alpha1.AnnotationReach: string(v1alpha1.ReachSpace)}
		c.put(k, obj("v1", "Service", of, "spec", m{"selector": m{"app": "web"}}))
		is := func() bool {
			return c.has("a", k) && c.has("b", k) && c.serves("b", k, c.uid(k), "u-above", "a") &&
				c.serves("a", k, c.uid(k), "u-above") && c.serves("", k, c.uid(k), "u-above", "a")
		}
		c.eventually("it is at a, its name at b", is)
		c.restart()
		c.eventually("the same after a restart", is)
		for _, wrong := range []struct{ target, uid string }{{"", "u-above"}, {"", "another"}, {"c", c.uid(k)}} {
			if at, above, has := c.d.Serving(wrong.target, k, wrong.uid); has {
				t.Errorf("a call of %q for the Service with UID %s goes to %v, %s", wrong.target, wrong.uid, at, above)
			}
		}
	})
}
