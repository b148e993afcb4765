package delivery

import (
	"fmt"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/spaceapi/spaceapitest"
	"skerry.dev/skerry/store"
)

func TestDefinitionsAndNamespacesAreWhereSomethingOfTheirsIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		crd := store.Key{
			Space:    "shop",
			Group:    "apiextensions.k8s.io",
			Resource: "customresourcedefinitions",
			Name:     "widgets.example.org",
		}
		c.put(
			crd,
			obj(
				"apiextensions.k8s.io/v1",
				"CustomResourceDefinition",
				meta("widgets.example.org"),
				"spec",
				map[string]any{},
			),
		)
		if c.has("a", crd) {
			t.Error("a definition went where the space has nothing")
		}
		c.namespace("app", nil)
		web := c.deployment("web", map[string]any{v1alpha1.LabelTarget: "b"}, "")
		c.eventually(
			"all three on b",
			func() bool { return c.has("b", web) && c.has("b", nsKey("app")) && c.has("b", crd) },
		)
		cm := c.configMap("one")
		c.eventually("and on a", func() bool { return c.has("a", cm) && c.has("a", nsKey("app")) && c.has("a", crd) })
		c.put(web, nil)
		if c.has("b", web) || c.has("b", nsKey("app")) || c.has("b", crd) {
			t.Error("b has nothing of the space any more but its frame")
		}
		w, _ := c.d.Feed("b").Get(web)
		n, _ := c.d.Feed("b").Get(nsKey("app"))
		d, _ := c.d.Feed("b").Get(crd)
		if w.Revision != n.Revision || n.Revision != d.Revision {
			t.Errorf("they must leave in one revision: %d %d %d", w.Revision, n.Revision, d.Revision)
		}
	})
}

// A space that is served with the definitions of another one takes them along, those of other
// groups not, and gives them back.
func TestBorrowedDefinitionsFollowTheBorrower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		definition := func(name string) store.Key {
			k := store.Key{
				Space:    "platform",
				Group:    "apiextensions.k8s.io",
				Resource: "customresourcedefinitions",
				Name:     name,
			}
			c.put(k, obj("apiextensions.k8s.io/v1", "CustomResourceDefinition", meta(name), "spec", map[string]any{}))
			return k
		}
		space := func(apis ...any) {
			c.put(
				rootKey("spaces", "shop"),
				obj("skerry.dev/v1alpha1", "Space", meta("shop"), "spec", map[string]any{"apis": apis,
					"defaultTargets": map[string]any{"count": int64(1)}}),
			)
		}
		boats, trains := definition("boats.example.org"), definition("trains.example.com")
		c.namespace("app", nil)
		cm := c.configMap("one")
		c.eventually("on a", func() bool { return c.has("a", cm) })
		if c.has("a", boats) {
			t.Error("a definition went where its space has nothing")
		}
		space(map[string]any{"fromSpace": "platform", "group": "example.org"})
		if !c.has("a", boats) || c.has("b", boats) || c.has("a", trains) {
			t.Errorf("boats on a %v, on b %v, trains on a %v", c.has("a", boats), c.has("b", boats), c.has("a", trains))
		}
		web := c.deployment("web", map[string]any{v1alpha1.LabelTarget: "b"}, "")
		c.eventually("boats follow to b", func() bool { return c.has("b", web) && c.has("b", boats) })
		late := definition("ships.example.org")
		if !c.has("a", late) || !c.has("b", late) {
			t.Error("a definition that is new in the group does not follow")
		}
		c.put(web, nil)
		if c.has("b", boats) {
			t.Error("boats stay where nothing of the borrower is")
		}
		space()
		if c.has("a", boats) || !c.has("a", cm) {
			t.Error("boats stay where nobody borrows them")
		}
	})
}

func TestObjectsOfADeletedNamespaceGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		cm, web := c.configMap("one"), c.deployment("web", nil, "one")
		c.eventually("on a", func() bool { return c.has("a", cm) && c.has("a", web) })
		c.mu.Lock()
		o := spaceapitest.Clone(c.objects[nsKey("app")])
		spaceapitest.Merge(o, map[string]any{"metadata": map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z"}})
		c.commit(nsKey("app"), o)
		c.mu.Unlock()
		if !c.has("a", nsKey("app")) {
			t.Error("the Namespace leaves after what is in it")
		}
		c.put(cm, nil)
		c.put(web, nil)
		if c.has("a", nsKey("app")) || c.has("a", cm) || c.has("a", web) {
			t.Error("something stayed")
		}
		c.put(nsKey("app"), nil)
		c.d.catalog.RLock()
		defer c.d.catalog.RUnlock()
		if sp := c.d.catalog.Spaces["shop"]; len(sp.Namespaces) != 0 || len(sp.Cluster.Objects) != 0 || len(sp.Here) != 0 {
			t.Errorf(
				"left in the catalog: %d namespaces, %d objects, %d places",
				len(sp.Namespaces),
				len(sp.Cluster.Objects),
				len(sp.Here),
			)
		}
	})
}

func TestAClusterScopedObjectHasARecordOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		k := store.Key{Space: "shop", Group: "storage.k8s.io", Resource: "storageclasses", Name: "fast"}
		c.put(k, obj("storage.k8s.io/v1", "StorageClass", meta("fast")))
		c.eventually("on a", func() bool { return c.has("a", k) && c.annotation(k) == "a" })
		c.label(k, map[string]any{v1alpha1.LabelTarget: "b"})
		c.eventually("on both", func() bool { return c.annotation(k) == "a,b" && c.has("b", k) })
		c.restart()
		c.report("b", k, nil)
		c.eventually("on b", func() bool { return c.annotation(k) == "b" && !c.has("a", k) })
	})
}

func TestAServiceAccountTravelsOnlyWithWhatNamesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		account, role := key("", "serviceaccounts", "runner"), key("rbac.authorization.k8s.io", "roles", "runner")
		put := func(k store.Key, apiVersion, kind string, fields ...any) {
			m := meta(k.Name)
			m["namespace"] = "app"
			c.put(k, obj(apiVersion, kind, m, fields...))
		}
		put(account, "v1", "ServiceAccount")
		put(role, "rbac.authorization.k8s.io/v1", "Role")
		web := key("apps", "deployments", "web")
		put(web, "apps/v1", "Deployment", "spec",
			map[string]any{"template": map[string]any{"spec": map[string]any{"serviceAccountName": "runner"}}})
		c.eventually("both on a", func() bool { return c.has("a", web) && c.has("a", account) })
		if c.has("a", role) {
			t.Error("rights were placed")
		}
		put(web, "apps/v1", "Deployment", "spec", map[string]any{})
		if c.has("a", account) {
			t.Error("nothing names the account any more")
		}
	})
}

func TestWhatIsNamedBeforeItExistsFollowsWhenItComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		web := c.deployment("web", map[string]any{v1alpha1.LabelTarget: "b"}, "late")
		c.eventually("on b", func() bool { return c.has("b", web) })
		late := c.configMap("late")
		if !c.has("b", late) {
			t.Error("the ConfigMap did not follow the workload that names it")
		}
		c.put(late, nil)
		c.put(web, nil)
		c.d.catalog.RLock()
		defer c.d.catalog.RUnlock()
		if n := len(c.d.catalog.Spaces["shop"].Namespaces["app"].Objects); n != 0 {
			t.Errorf("%d objects left in the catalog", n)
		}
	})
}

func TestAdmissionKnowsTheDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		ask := func(k store.Key, labels map[string]string) string {
			return c.d.Admit("shop", k, &metav1.ObjectMeta{Name: k.Name, Labels: labels}).Targets
		}
		if got := ask(nsKey("app"), nil); got != "a" {
			t.Errorf("a new Namespace: %q", got)
		}
		if got := ask(nsKey("app"), map[string]string{v1alpha1.LabelTarget: "b"}); got != "b" {
			t.Errorf("a new Namespace with a wish: %q", got)
		}
		cm := key("", "configmaps", "one")
		if a := c.d.Admit("shop", cm, &metav1.ObjectMeta{}); a != (Admitted{}) {
			t.Errorf("known before the namespace is decided: %+v", a)
		}
		m := meta("app")
		m["annotations"] = map[string]any{v1alpha1.AnnotationTargets: ask(nsKey("app"), nil)}
		c.put(nsKey("app"), obj("v1", "Namespace", m))
		c.eventually("decided", func() bool { return ask(cm, nil) == "a" })
		if got := ask(cm, map[string]string{v1alpha1.LabelTarget: "b"}); got != "b" {
			t.Errorf("with a wish of its own: %q", got)
		}
		if got := ask(key("", "events", "e"), nil) + ask(key("rbac.authorization.k8s.io", "roles", "r"), nil); got != "" {
			t.Errorf("what is never placed: %q", got)
		}
		one := obj("v1", "ConfigMap", map[string]any{"name": "one", "namespace": "app", "annotations": map[string]any{
			v1alpha1.AnnotationTargets: "a"}})
		c.put(cm, one)
		if !c.has("a", cm) {
			t.Error("the write did not feed the target")
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.patches[cm]+c.patches[nsKey("app")] != 0 {
			t.Errorf("an ordinary apply must cost one write, but there were %v", c.patches)
		}
	})
}

func TestAConflictIsLookedAtAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		times := 0
		c.mu.Lock()
		c.fail = func(k store.Key) error {
			if times++; times < 3 {
				return apierrors.NewConflict(schema.GroupResource{Resource: k.Resource}, k.Name, fmt.Errorf("changed"))
			}
			return nil
		}
		c.mu.Unlock()
		c.namespace("app", nil)
		cm := c.configMap("one")
		c.eventually("decided in the end", func() bool { return c.has("a", cm) })
	})
}

func TestASecondSnapshotKeepsTheFeedsAndTakesWhatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		one, two := c.configMap("one"), c.configMap("two")
		c.eventually("on a", func() bool {
			return c.has("a", one) && c.has("a", two) && c.annotation(one) == "a" && c.annotation(two) == "a"
		})
		feed := c.d.Feed("a")
		kept, _ := feed.Get(one)
		c.mu.Lock()
		delete(c.objects, two)
		c.revision++
		c.mu.Unlock()
		c.reset()
		if c.d.Feed("a") != feed {
			t.Fatal("the feed was replaced: receivers would lose their place")
		}
		if e, _ := feed.Get(one); e.Revision != kept.Revision || e.Hash != kept.Hash {
			t.Errorf("what did not change was sent again: %+v, was %+v", e, kept)
		}
		if e, ok := feed.Get(two); !ok || !e.Tombstone {
			t.Error("what was deleted meanwhile has no tombstone")
		}
	})
}

func TestNothingWishedAnyMoreStaysWhereItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "b"})
		cm := c.configMap("one")
		c.eventually("on b", func() bool { return c.has("b", cm) })
		c.put(rootKey("spaces", "shop"), obj("skerry.dev/v1alpha1", "Space", meta("shop"), "spec", map[string]any{}))
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: nil})
		c.eventually("the Namespace says that nothing says where to", func() bool {
			o, _ := c.Get(t.Context(), nsKey("app"), "v1")
			return catalog.ReadConditions(o).Get(v1alpha1.ConditionObjectScheduled)["reason"] == "Nowhere"
		})
		if !c.has("b", cm) || c.annotation(nsKey("app")) != "b" {
			t.Error("it was removed")
		}
	})
}

func TestAPinnedStatefulSetStaysWhenItsNamespaceMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		m := meta("db")
		m["namespace"], m["labels"] = "app", map[string]any{v1alpha1.LabelTarget: "a"}
		db, svc := key("apps", "statefulsets", "db"), key("", "services", "db")
		c.put(db, obj("apps/v1", "StatefulSet", m, "spec", map[string]any{"serviceName": "db", "replicas": 1,
			"template": map[string]any{"spec": map[string]any{}}, "volumeClaimTemplates": []any{map[string]any{}}}))
		c.put(svc, obj("v1", "Service", map[string]any{"name": "db", "namespace": "app"}))
		web := c.deployment("web", nil, "")
		c.eventually("all on a", func() bool { return c.has("a", db) && c.has("a", svc) && c.has("a", web) })
		c.report("a", db, func(p *placement.Progress) { p.HasVolume = true })
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		c.eventually("web and the Service on b", func() bool { return c.has("b", web) && c.has("b", svc) })
		c.report("b", web, nil)
		c.report("b", svc, nil)
		c.eventually("web left a", func() bool { return !c.has("a", web) })
		if !c.has("a", db) || c.has("b", db) || !c.has("a", svc) {
			t.Errorf(
				"the StatefulSet and its Service must stay on a: %v %v %v",
				c.has("a", db),
				c.has("b", db),
				c.has("a", svc),
			)
		}
	})
}

func TestALocationNamesTargetsAndCountsThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		k := rootKey("locations", "the-south")
		c.put(k, obj("skerry.dev/v1alpha1", "Location", meta("the-south"), "spec", map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"region": "south"}}}))
		count := func(field string) int64 {
			o, _ := c.Get(t.Context(), k, "")
			return customize.Number(fields.Map(o, "status")[field])
		}
		c.eventually("counted", func() bool { return count("targets") == 1 && count("available") == 1 })
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "the-south"})
		cm := c.configMap("one")
		c.eventually("on b", func() bool { return c.has("b", cm) })
		c.put(rootKey("synctargets", "b"), nil)
		c.eventually("counted again", func() bool { return count("targets") == 0 })
		if c.has("a", cm) {
			t.Error("it went where nobody wished it")
		}
	})
}

func TestASpaceThatIsGoneLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		cm, web := c.configMap("one"), c.deployment("web", nil, "one")
		c.eventually("on a", func() bool { return c.has("a", cm) && c.has("a", web) })
		c.put(rootKey("spaces", "shop"), nil)
		if !c.has("a", web) {
			t.Error("only what is deleted goes")
		}
		for _, k := range []store.Key{nsKey("app"), cm, web} { // the order of a purge
			c.put(k, nil)
		}
		if c.has("a", nsKey("app")) || c.has("a", cm) || c.has("a", web) {
			t.Error("something stayed on a")
		}
		c.d.catalog.RLock()
		defer c.d.catalog.RUnlock()
		if sp := c.d.catalog.Spaces["shop"]; sp != nil {
			t.Errorf("the space stays in memory: %+v", sp)
		}
	})
}
