package delivery

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// left brings an object to b whose annotation still says that it is on a, too, as it is for a
// moment after every move of a namespace.
func left(t *testing.T) (*center, store.Key) {
	c := shop(t)
	m := meta("app")
	m["annotations"] = map[string]any{v1alpha1.AnnotationTargets: "b"}
	m["labels"] = map[string]any{v1alpha1.LabelTarget: "b"}
	c.put(nsKey("app"), obj("v1", "Namespace", m))
	cm := key("", "configmaps", "one")
	c.put(
		cm,
		obj(
			"v1",
			"ConfigMap",
			map[string]any{
				"name":        "one",
				"namespace":   "app",
				"annotations": map[string]any{v1alpha1.AnnotationTargets: "a,b"},
			},
		),
	)
	if c.has("a", cm) || !c.has("b", cm) {
		t.Fatal("it is to be where its Namespace's record says")
	}
	c.report("b", cm, nil)
	return c, cm
}

// refuse has all writes of an object refused, of the zero Key none.
func (c *center) refuse(refused store.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = func(k store.Key) error {
		if k == refused {
			return errors.New("refused")
		}
		return nil
	}
}

func TestAnObjectDoesNotComeBackWithARestart(t *testing.T) {
	c, cm := left(t)
	c.restart()
	if c.has("a", cm) || !c.has("b", cm) {
		t.Error("the annotation that was not yet rewritten brought it back to a")
	}
}

// The site has deleted it, but the center died before it heard of that.
func TestAnObjectDoesNotComeBackThatIsStillReported(t *testing.T) {
	c := shop(t)
	c.namespace("app", nil)
	cm := c.configMap("one")
	c.eventually("on a", func() bool { return c.has("a", cm) && c.annotation(cm) == "a" })
	c.report("a", cm, nil)
	c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
	c.eventually("on both", func() bool { return c.has("a", cm) && c.has("b", cm) })
	c.report("b", cm, nil)
	c.eventually("on b alone", func() bool { return !c.has("a", cm) && c.has("b", cm) })
	if note := c.annotation(cm); note != "a" && note != "a,b" {
		t.Fatal("its annotation is right already: this test shows nothing")
	}
	c.restart()
	if c.has("a", cm) || !c.has("b", cm) {
		t.Error("the restart brought it back to a")
	}
}

// Both have left a, and the center has not heard of that; then one of them is wished there, and not
// any more. That the Namespace has not left a for that one must not be told before the annotation
// of the other one is right.
func TestAnObjectDoesNotComeBackBecauseAnotherIsHeld(t *testing.T) {
	synctest.Test(t, anotherIsHeld)
}

func anotherIsHeld(t *testing.T) {
	c := shop(t)
	c.namespace("app", nil)
	one, two := c.configMap("one"), c.configMap("two")
	both := func(targets ...string) {
		c.eventually(fmt.Sprint("on ", targets), func() bool {
			for _, k := range []store.Key{one, two} {
				for _, t := range []string{"a", "b"} {
					if c.has(t, k) != slices.Contains(targets, t) {
						return false
					}
				}
			}
			return true
		})
	}
	both("a")
	c.eventually("noted", func() bool { return c.annotation(one) == "a" && c.annotation(two) == "a" })
	c.report("a", one, nil)
	c.report("a", two, nil)
	c.refuse(two)
	c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
	both("a", "b")
	c.report("b", one, nil)
	c.report("b", two, nil)
	both("b")
	c.label(one, map[string]any{v1alpha1.LabelTarget: "a"})
	c.eventually("wished on a", func() bool { return c.has("a", one) && !c.has("b", one) && c.annotation(one) == "a" })
	c.gone("b", one)
	c.change(
		one,
		map[string]any{
			"labels":      map[string]any{v1alpha1.LabelTarget: nil},
			"annotations": map[string]any{v1alpha1.AnnotationUndecided: "true"},
		},
	)
	c.eventually("held on a", func() bool { return c.has("a", one) && c.has("b", one) })
	time.Sleep(time.Minute) // all is written that can be
	c.restart()
	if c.has("a", two) || !c.has("b", two) {
		t.Error("the other one is brought back to a")
	}
	if !c.has("a", one) {
		t.Error("the one that was held is taken from a before it is on b")
	}
	c.refuse(store.Key{})
	c.report("b", one, nil)
	both("b")
	if _, ever := c.d.Feed("a").Get(two); ever {
		t.Error("the other one came back to a")
	}
}

func TestAnObjectThatIsReportedStaysHeldOverARestart(t *testing.T) {
	c := shop(t)
	c.namespace("app", nil)
	web := c.deployment("web", map[string]any{v1alpha1.LabelTarget: "b"}, "")
	c.eventually("on b", func() bool { return c.has("b", web) })
	c.report("b", web, nil)
	c.label(web, map[string]any{v1alpha1.LabelTarget: nil})
	c.eventually("held on b until it is on a", func() bool { return c.has("a", web) && c.has("b", web) })
	c.restart()
	if !c.has("a", web) || !c.has("b", web) {
		t.Error("the restart took it from b before it arrived on a")
	}
}

func TestAWishOfItsOwnBeginsWhereTheObjectIs(t *testing.T) {
	c, cm := left(t)
	text, known := c.d.Targets(
		"shop",
		cm,
		&metav1.ObjectMeta{Name: "one", Namespace: "app", Labels: map[string]string{v1alpha1.LabelTarget: "b"},
			Annotations: map[string]string{v1alpha1.AnnotationTargets: "a,b"}},
	)
	if text != "b" || !known {
		t.Errorf("admission says %q", text)
	}
}

// A write can come before a center knows where the object is that it is about, or at a replica that
// never does: the old annotation comes with it, or none.
func TestAWishOfItsOwnBeginsWhereTheObjectIsWhateverItsAnnotationSays(t *testing.T) {
	for _, annotations := range []map[string]any{
		{v1alpha1.AnnotationTargets: "a"},
		{v1alpha1.AnnotationTargets: nil},
		{v1alpha1.AnnotationUndecided: "true"},
	} {
		c, cm := left(t)
		c.target("c", nil)
		c.change(cm, map[string]any{"labels": map[string]any{v1alpha1.LabelTarget: "c"}, "annotations": annotations})
		c.eventually("on b and c", func() bool { return c.has("b", cm) && c.has("c", cm) })
		c.report("c", cm, nil)
		c.eventually("on c alone", func() bool { return !c.has("b", cm) && c.annotation(cm) == "c" })
		if _, ever := c.d.Feed("a").Get(cm); ever {
			t.Errorf("with the annotations %v it came back to a", annotations)
		}
	}
}

// What was noted says by chance where the object shall go.
func TestAWishOfItsOwnForWhatTheAnnotationSaysAlready(t *testing.T) {
	c, cm := left(t)
	c.change(
		cm,
		map[string]any{
			"labels":      map[string]any{v1alpha1.LabelTarget: "a"},
			"annotations": map[string]any{v1alpha1.AnnotationTargets: "b,a"},
		},
	)
	c.eventually("on both", func() bool { return c.has("a", cm) && c.has("b", cm) })
	c.report("a", cm, nil)
	c.eventually("on a alone", func() bool { return !c.has("b", cm) && c.annotation(cm) == "a" })
}

// The center died after the wish was written and before it was decided about.
func TestAWishOfItsOwnWithoutADecisionBeginsWhereTheObjectIsReported(t *testing.T) {
	c, cm := left(t)
	c.target("c", nil)
	c.stop()
	c.change(
		cm,
		map[string]any{
			"labels":      map[string]any{v1alpha1.LabelTarget: "c"},
			"annotations": map[string]any{v1alpha1.AnnotationUndecided: "true"},
		},
	)
	c.restart()
	c.eventually("on c", func() bool { return c.has("c", cm) })
	if !c.has("b", cm) || c.has("a", cm) {
		t.Error("it is to stay on b until it is on c")
	}
	c.report("c", cm, nil)
	c.eventually("on c alone", func() bool { return !c.has("b", cm) && c.annotation(cm) == "c" })
}

// A Namespace does not move before what is stored tells where an object is that has just left it,
// or come to it; but not for ever.
func TestANamespaceWaitsForWhatIsUndecided(t *testing.T) {
	synctest.Test(t, namespaceWaits)
}

func namespaceWaits(t *testing.T) {
	c, cm := left(t)
	c.refuse(cm)
	c.change(
		cm,
		map[string]any{
			"labels":      map[string]any{v1alpha1.LabelTarget: "a"},
			"annotations": map[string]any{v1alpha1.AnnotationUndecided: "true"},
		},
	)
	c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "a"})
	since := time.Now()
	c.eventually("the Namespace goes on without it", func() bool { return c.annotation(nsKey("app")) == "a" })
	if waited := time.Since(since); waited < undecidedTime {
		t.Errorf("it waited %s", waited)
	}
}
