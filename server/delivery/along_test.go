package delivery

import (
	"maps"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
)

type m = map[string]any

// labelled is a Deployment whose pods have labels.
func labelled(meta, pods m) m {
	return obj("apps/v1", "Deployment", meta, "spec", m{"template": m{"metadata": m{"labels": pods}, "spec": m{}}})
}

// web writes the Deployment web, with a label of its own where target is not empty.
func (c *center) web(target string) store.Key {
	k, of := key("apps", "deployments", "web"), meta("web")
	of["namespace"], of["generation"] = "app", 1
	if target != "" {
		of["labels"] = m{v1alpha1.LabelTarget: target}
	}
	c.put(k, labelled(of, m{"app": "web"}))
	return k
}

func (c *center) along(group, resource, apiVersion, kind, name string, labels, spec m) store.Key {
	k, of := key(group, resource, name), meta(name)
	of["namespace"], of["generation"] = "app", 1
	if labels != nil {
		of["labels"] = labels
	}
	c.put(k, obj(apiVersion, kind, of, "spec", spec))
	return k
}

func (c *center) webService(labels m) store.Key {
	return c.along("", "services", "v1", "Service", "web", labels, m{"selector": m{"app": "web"}})
}

func (c *center) autoscaler() store.Key {
	return c.along("autoscaling", "horizontalpodautoscalers", "autoscaling/v2", "HorizontalPodAutoscaler", "web", nil,
		m{"scaleTargetRef": m{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}})
}

// What selects or names a Deployment is where the Deployment is, and leaves a target with it.
func TestWhatSelectsAWorkloadGoesAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", m{v1alpha1.LabelTarget: "b"})
		web, other := c.web(""), c.deployment("other", nil, "")
		beside := []store.Key{c.webService(nil),
			c.along("policy", "poddisruptionbudgets", "policy/v1", "PodDisruptionBudget", "web", nil,
				m{"selector": m{"matchLabels": m{"app": "web"}}}),
			c.along("networking.k8s.io", "networkpolicies", "networking.k8s.io/v1", "NetworkPolicy", "deny", nil,
				m{"podSelector": m{}}),
			c.along("networking.k8s.io", "ingresses", "networking.k8s.io/v1", "Ingress", "web", nil,
				m{"defaultBackend": m{"service": m{"name": "web"}}, "tls": []any{m{"secretName": "cert"}}}),
			c.along("gateway.networking.k8s.io", "httproutes", "gateway.networking.k8s.io/v1", "HTTPRoute", "web", nil,
				m{"rules": []any{m{"backendRefs": []any{m{"name": "web"}}}}})}
		c.put(key("", "secrets", "cert"), obj("v1", "Secret", m{"name": "cert", "namespace": "app"}))
		beside = append(beside, key("", "secrets", "cert"))
		scaler := c.autoscaler()
		all := func(target string, want bool) bool {
			for _, k := range beside {
				if c.has(target, k) != want {
					return false
				}
			}
			return true
		}
		c.eventually("with their Namespace", func() bool { return all("b", true) && c.has("b", scaler) && c.has("b", web) })
		c.web("a")
		c.eventually("on both while it moves", func() bool { return all("a", true) && all("b", true) && c.has("a", scaler) })
		if !c.has("b", scaler) {
			t.Error("the autoscaler has left before what it scales")
		}
		c.report("a", web, nil)
		c.eventually("it has moved", func() bool { return c.has("a", web) && !c.has("b", web) })
		if !all("a", true) || !all("b", true) || c.has("b", scaler) || !c.has("a", scaler) {
			t.Error("beside their own place where what they select is, and the autoscaler only there")
		}
		c.restart()
		if !all("a", true) || !all("b", true) || c.has("b", scaler) || !c.has("a", scaler) {
			t.Error("not so after a restart")
		}
		c.label(nsKey("app"), m{v1alpha1.LabelTarget: "c"})
		c.target("c", nil)
		c.eventually("the rest has moved, and nothing waits for the autoscaler", func() bool {
			for _, k := range append([]store.Key{other}, beside...) {
				c.reportIfHas("c", k)
			}
			return all("c", true) && all("b", false) && all("a", true) && !c.has("c", scaler)
		})
		c.web("c")
		c.eventually("nothing is left where nothing is selected", func() bool {
			c.reportIfHas("c", web)
			return all("c", true) && all("a", false) && c.has("c", scaler) && !c.has("a", scaler)
		})
	})
}

// A word of its own keeps what selects a workload where it is, and the workload says so.
func TestWhatHasItsOwnWordStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", m{v1alpha1.LabelTarget: "b"})
		web, service := c.web(""), c.webService(m{v1alpha1.LabelTarget: "b"})
		c.eventually("with their Namespace", func() bool { return c.has("b", service) && c.has("b", web) })
		c.web("a")
		c.eventually("said of the label", func() bool {
			c.reportIfHas("a", web)
			s := c.saidScheduled(web)
			return c.has("a", web) && !c.has("b", web) && !s.Status && s.Reason == catalog.SelectsElsewhere &&
				strings.Contains(s.Message, "services/web is on b by its label "+v1alpha1.LabelTarget)
		})
		if c.has("a", service) {
			t.Error("the Service went along")
		}
		third, selecting := labelled(meta("third"), m{"app": "web"}), m{"spec": m{"selector": m{"app": "web"}}}
		parts := func(k store.Key, label string, of m) string { return c.d.Parts(k, label, of) }
		if w := parts(key("apps", "deployments", "third"), "a", third); !strings.Contains(w, "services/web is on b by its label") {
			t.Errorf("the label of a new Deployment: %q", w)
		}
		if w := parts(service, "c", selecting); !strings.Contains(w, "deployments/web is on a") {
			t.Errorf("the label of the Service: %q", w)
		}
		if w := parts(service, "a", selecting) + parts(key("apps", "deployments", "third"), "b", third) +
			parts(key("apps", "deployments", "third"), "a", labelled(meta("third"), m{"app": "x"})); w != "" {
			t.Errorf("nothing is parted, and it warns: %q", w)
		}
		c.webService(nil)
		c.eventually("without a label it goes along, and that is not said any more", func() bool {
			return c.has("a", service) && c.has("b", service) && c.saidScheduled(web).Reason == "Decided"
		})
		c.put(placementOf("net"), obj("skerry.dev/v1alpha1", "Placement", meta("net"), "spec", m{
			"objects": []any{m{"resources": []any{"services"}}}, "targets": m{"names": []any{"b"}}}))
		c.eventually("nor does what a Placement lists by its kind", func() bool {
			c.reportIfHas("b", service)
			s := c.saidScheduled(web)
			return !c.has("a", service) && s.Reason == catalog.SelectsElsewhere && strings.Contains(s.Message, "Placement net")
		})
		c.put(placementOf("net"), nil)
		c.put(placementOf("only"), obj("skerry.dev/v1alpha1", "Placement", meta("only"), "spec", m{
			"objects": []any{m{"names": []any{"web"}, "resources": []any{"deployments"}}}, "includeDependencies": false,
			"precedence": "Override", "targets": m{"names": []any{"a"}}}))
		c.web("")
		c.eventually("nothing goes along with what a Placement sends alone", func() bool {
			c.reportIfHas("a", web)
			c.reportIfHas("b", service)
			return c.has("a", web) && !c.has("a", service) && c.has("b", service)
		})
	})
}

// What selects all of its Namespace is told in the same way.
func TestWhatSelectsAllAndHasItsOwnWordStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", m{v1alpha1.LabelTarget: "b"})
		deny := func(labels m) store.Key {
			return c.along("networking.k8s.io", "networkpolicies", "networking.k8s.io/v1", "NetworkPolicy", "deny", labels,
				m{"podSelector": m{}})
		}
		web, policy := c.web(""), deny(m{v1alpha1.LabelTarget: "b"})
		c.eventually("with their Namespace", func() bool { return c.has("b", policy) && c.has("b", web) })
		c.web("a")
		c.eventually("said of the label", func() bool {
			c.reportIfHas("a", web)
			s := c.saidScheduled(web)
			return !s.Status && s.Reason == catalog.SelectsElsewhere && strings.Contains(s.Message, "networkpolicies/deny is on b")
		})
		third := labelled(meta("third"), m{"app": "x"})
		if w := c.d.Parts(key("apps", "deployments", "third"), "a", third); !strings.Contains(w, "networkpolicies/deny is on b") {
			t.Errorf("the label of a new Deployment: %q", w)
		}
		deny(nil)
		c.eventually("without a label it goes along, and that is not said any more", func() bool {
			return c.has("a", policy) && c.has("b", policy) && c.saidScheduled(web).Reason == "Decided"
		})
	})
}

// A snapshot in which two Deployments have changed places takes their Service from neither.
func TestASnapshotLosesNoFollower(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &history{t: t, d: still(), stored: map[store.Key]store.Write{}, revision: 1}
		defer stop(h.d)
		h.d.Reset(1, storetest.Listing(maps.Values(h.stored)))
		for _, name := range []string{"a", "b"} {
			h.put(rootKey("synctargets", name), obj("skerry.dev/v1alpha1", "SyncTarget", m{"name": name, "uid": name}))
		}
		h.put(rootKey("spaces", "shop"), obj("skerry.dev/v1alpha1", "Space", meta("shop"), "spec", m{}))
		h.put(nsKey("app"), obj("v1", "Namespace", note("app", "", "")))
		for _, name := range []string{"x", "y"} {
			of := note(name, v1alpha1.UnitSelf, "a")
			of["uid"] = "uid-d" + name
			h.put(key("apps", "deployments", name), labelled(of, m{"app": "x"}))
		}
		service := key("", "services", "x")
		h.put(service, obj("v1", "Service", note("x", "", ""), "spec", m{"selector": m{"app": "x"}}))
		h.bind("uid-dx", "a")
		h.bind("uid-dy", "b")
		before, _ := h.d.Feed("b").Get(service)
		now := h.d
		h.d = still() // the writes come with the snapshot alone
		defer stop(h.d)
		h.bind("uid-dx", "b")
		h.bind("uid-dy", "a")
		now.Reset(h.revision, storetest.Listing(maps.Values(h.stored)))
		if after, ok := now.Feed("b").Get(service); !ok || after.Revision != before.Revision {
			t.Fatalf("the feed has %+v, it had %+v", after, before)
		}
	})
}

// TestAnyHistoryKeepsWhatGoesAlong makes random writes, and compares where followers are with a walk over
// their namespace.
func TestAnyHistoryKeepsWhatGoesAlong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &history{t: t, d: still(), stored: map[store.Key]store.Write{}, revision: 1}
		defer stop(h.d)
		h.d.Reset(1, storetest.Listing(maps.Values(h.stored)))
		for _, name := range []string{"a", "b"} {
			h.put(rootKey("synctargets", name), obj("skerry.dev/v1alpha1", "SyncTarget", m{"name": name, "uid": name}))
		}
		h.put(rootKey("spaces", "shop"), obj("skerry.dev/v1alpha1", "Space", meta("shop"), "spec", m{}))
		h.put(nsKey("app"), obj("v1", "Namespace", note("app", "", "")))
		for range rapid.IntRange(1, 40).Draw(t, "writes") {
			h.writeAlong()
			h.walkAlong()
		}
	})
}

func (h *history) writeAlong() {
	pick := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(h.t, label) }
	name, record := pick("name", "x", "y"), pick("record", "", "a", "b", "a,b")
	meta := func(kind string) m {
		unit, wish := "uid-app", ""
		if pick("own", "", "yes") != "" {
			unit, wish = v1alpha1.UnitSelf, "a"
		}
		of := note(name, unit, wish)
		of["uid"] = "uid-" + kind + name
		return of
	}
	pods := m{"app": pick("app", "x", "y"), "tier": pick("tier", "1", "2")}
	selects := []m{{}, {"app": "x"}, {"app": "y", "tier": "1"}}[rapid.IntRange(0, 2).Draw(h.t, "selector")]
	var k store.Key
	var o m
	switch pick("kind", "deployment", "deployment", "service", "policy", "budget", "all", "pod", "ingress", "scaler", "placement", "binding", "reset") {
	case "deployment":
		k, o = key("apps", "deployments", name), labelled(meta("d"), pods)
	case "service":
		k, o = key("", "services", name), obj("v1", "Service", meta("s"), "spec", m{"selector": selects})
	case "policy":
		k = key("networking.k8s.io", "networkpolicies", name)
		selector := m{"matchLabels": selects}
		if pick("expression", "", "yes") != "" {
			selector["matchExpressions"] = []any{m{"key": "tier", "operator": "NotIn", "values": []any{"2"}}}
		}
		o = obj("networking.k8s.io/v1", "NetworkPolicy", meta("n"), "spec", m{"podSelector": selector})
	case "budget":
		k = key("policy", "poddisruptionbudgets", name)
		o = obj("policy/v1", "PodDisruptionBudget", meta("b"), "spec", m{"selector": m{"matchLabels": selects}})
	case "all": // under the names that others have with a selector
		k = key("networking.k8s.io", "networkpolicies", name)
		o = obj("networking.k8s.io/v1", "NetworkPolicy", meta("n"), "spec", m{"podSelector": m{}})
	case "pod":
		k = key("", "pods", name)
		of := meta("p")
		if wish, has := of["labels"].(m); has {
			maps.Copy(pods, wish)
		}
		of["labels"] = pods
		o = obj("v1", "Pod", of, "spec", m{})
	case "ingress":
		k = key("networking.k8s.io", "ingresses", name)
		o = obj("networking.k8s.io/v1", "Ingress", meta("i"), "spec",
			m{"defaultBackend": m{"service": m{"name": pick("to", "x", "y")}}})
	case "scaler":
		k = key("autoscaling", "horizontalpodautoscalers", name)
		o = obj("autoscaling/v2", "HorizontalPodAutoscaler", meta("h"), "spec", m{"scaleTargetRef": m{
			"apiVersion": "apps/v1", "kind": pick("scales", "Deployment", "Ingress"), "name": pick("of", "x", "y")}})
	case "placement":
		k = catalog.PlacementKey("shop", "p")
		of := m{"name": "p", "uid": "uid-p", "generation": h.revision}
		o = obj("skerry.dev/v1alpha1", "Placement", of, "spec", m{"objects": []any{m{"names": []any{name},
			"resources": []any{pick("resource", "services", "deployments")}}}, "includeDependencies": pick("brings", "", "yes") != "",
			"targets": m{"names": []any{"a"}}})
	case "binding":
		h.bind(pick("unit", "uid-app", "uid-p", "uid-dx", "uid-dy", "uid-sx", "uid-hx", "uid-px", "uid-nx"), record)
		return
	default:
		h.d.Reset(h.revision, storetest.Listing(maps.Values(h.stored)))
		return
	}
	if pick("gone", "no", "no", "yes") == "yes" {
		o = nil
	}
	h.put(k, o)
}

func (h *history) walkAlong() {
	c := h.d.catalog
	c.Lock()
	defer c.Unlock()
	var all []*catalog.Object
	c.EachObject(func(o *catalog.Object) {
		if o.Present && o.Namespace.Name == "app" {
			all = append(all, o)
		}
	})
	var on func(f *catalog.Object) *catalog.Set
	on = func(f *catalog.Object) *catalog.Set {
		own := c.RecordOf(f)
		of := placement.FollowerOf(f.Key(), h.stored[f.Key()].Object)
		if of == nil || f.StandsAlone() {
			return own
		}
		led := (*catalog.Set)(nil)
		any := false
		for _, l := range all {
			leads := false
			pods, runs := placement.PodLabels(l.Key(), h.stored[l.Key()].Object)
			leads = runs && of.Selector != nil && of.Selector.Matches(catalog.LabelsOf(pods))
			for _, n := range of.Names {
				leads = leads || n == placement.ObjectName{Group: l.Kind.Group, Kind: l.Kind.Name, Name: l.Name} && n.Kind != "Ingress"
			}
			if leads && l.BringsDependencies() {
				any, led = true, c.Sets.Union(led, on(l))
			}
		}
		led = c.Sets.Of(placement.Union(nil, led.List())) // by name
		if any && of.Only {
			return led
		}
		return c.Sets.Union(own, led)
	}
	for _, o := range all {
		if want := on(o); want != o.On {
			h.t.Fatalf("%s is on %q, a walk says %q", o.Key(), o.On.Record(), want.Record())
		}
	}
}
