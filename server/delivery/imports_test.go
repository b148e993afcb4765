package delivery

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/store"
)

// imported writes what serves an import in the Namespace app of a space.
func (c *center) imported(space, members string) store.Key {
	k, of := store.Key{Space: space, Resource: "services", Namespace: "app", Name: "derived"}, meta("derived")
	of["namespace"], of["generation"] = "app", 1
	of["labels"] = m{v1alpha1.LabelTarget: v1alpha1.TargetNone}
	of["annotations"] = m{v1alpha1.AnnotationReach: string(v1alpha1.ReachSpace), v1alpha1.AnnotationMembers: members}
	c.put(k, obj("v1", "Service", of, "spec", m{"selector": m{"none": "x"}, "ports": []any{m{"port": 80}}}))
	return k
}

// runs has a space run pods at a target, in a Namespace.
func (c *center) runs(space, namespace, target string) store.Key {
	k := store.Key{Space: space, Group: "apps", Resource: "deployments", Namespace: namespace, Name: "runs"}
	of := meta("runs")
	of["namespace"], of["generation"], of["labels"] = namespace, 1, m{v1alpha1.LabelTarget: target}
	c.put(k, labelled(of, m{"app": "runs"}))
	return k
}

// An import is nowhere itself. Its name is where its space runs pods, unless the Namespace there is that of another
// space of its set, whose import answers for all.
func TestASiteHasTheImportOfOneSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.space("desk")
		for _, space := range []string{"shop", "desk"} {
			for _, name := range []string{"app", "front"} {
				c.put(catalog.NamespaceKey(space, name), obj("v1", "Namespace", m{"name": name,
					"labels": m{v1alpha1.LabelTarget: v1alpha1.TargetNone}}))
			}
		}
		ofShop, ofDesk := c.imported("shop", "desk,shop"), c.imported("desk", "desk,shop")
		at := func(ofA, ofB store.Key) func() bool {
			return func() bool {
				for _, k := range []store.Key{ofShop, ofDesk} {
					if c.has("a", k) != (k == ofA) || c.has("b", k) != (k == ofB) {
						return false
					}
				}
				return true
			}
		}
		nowhere := store.Key{}
		c.eventually("nobody runs pods", at(nowhere, nowhere))

		front := c.runs("shop", "front", "a")
		c.eventually("where its space runs pods", at(ofShop, nowhere))
		if !c.has("a", catalog.NamespaceKey("shop", "app")) || c.has("a", catalog.NamespaceKey("desk", "app")) {
			t.Error("its Namespace does not go along")
		}
		c.runs("desk", "front", "a")
		c.eventually("of two the first by name", at(ofDesk, nowhere))
		runs := c.runs("shop", "app", "a")
		c.eventually("that of whose Namespace is there for itself", at(ofShop, nowhere))
		moved := c.runs("desk", "front", "b")
		c.eventually("desk goes to b", func() bool { return c.has("b", moved) })
		c.report("b", moved, nil)
		c.eventually("each has its own", at(ofShop, ofDesk))
		c.restart()
		c.eventually("the same after a restart", at(ofShop, ofDesk))

		c.put(runs, nil)
		c.eventually("shop still runs pods at a", at(ofShop, ofDesk))
		c.put(front, nil)
		c.eventually("and no more", at(nowhere, ofDesk))
	})
}

// Targets get the members of an import with the UIDs that their Spaces have now.
func TestMembersOfAnImportAreToldByTheirUIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.put(rootKey("spaces", "desk"), obj("skerry.dev/v1alpha1", "Space", m{"name": "desk", "uid": "d-1"}))
		c.namespace("app", m{v1alpha1.LabelTarget: "a"})
		c.web("")
		k := c.imported("shop", "desk,gone,shop")
		says := func(want string) func() bool {
			return func() bool {
				return c.has("a", k) && strings.Contains(c.bodyOf("a", k), `"skerry.dev/members":"`+want)
			}
		}
		c.eventually("both that there are", says("desk=d-1,shop="))
		c.put(rootKey("spaces", "desk"), obj("skerry.dev/v1alpha1", "Space", m{"name": "desk", "uid": "d-2"}))
		c.eventually("another space of that name", says("desk=d-2,shop="))
		k = c.imported("shop", "desk=theirs,shop=theirs") // as a parent writes it
		c.eventually("by the UIDs of this center", says("desk=d-2,shop="))
		if strings.Contains(c.bodyOf("a", k), "theirs") {
			t.Error(c.bodyOf("a", k))
		}
	})
}

// A Service says for how long its callers come back, while it is there.
func TestForHowLongCallersComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", m{v1alpha1.LabelTarget: "a"})
		k := store.Key{Space: "shop", Resource: "services", Namespace: "app", Name: "web"}
		is := func(want time.Duration) func() bool {
			return func() bool { return AffinityOf(c.d)(k) == want }
		}
		for affinity, want := range map[string]time.Duration{"ClientIP": 3 * time.Hour, "None": 0} {
			of := meta("web")
			of["namespace"] = "app"
			c.put(k, obj("v1", "Service", of, "spec", m{"selector": m{"app": "web"}, "sessionAffinity": affinity,
				"ports": []any{m{"port": 80}}}))
			c.eventually(affinity, is(want))
		}
		of := meta("web")
		of["namespace"] = "app"
		c.put(k, obj("v1", "Service", of, "spec", m{"selector": m{"app": "web"}, "sessionAffinity": "ClientIP"}))
		c.eventually("again", is(3*time.Hour))
		c.restart()
		c.eventually("after a restart", is(3*time.Hour))
		c.put(k, nil)
		c.eventually("it is gone", is(0))
		if n := len(c.d.catalog.Affine); n != 0 {
			t.Errorf("%d Services are remembered that have gone", n)
		}
	})
}
