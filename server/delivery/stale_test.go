package delivery

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// left brings an object to b whose annotation still says that it is on a, too, as it is for a
// moment after every move of a namespace.
func left(t *testing.T) (*center, store.Key) {
	c := shop(t)
	c.namespace("app", map[string]any{v1alpha1.LabelTarget: "b"})
	cm := c.configMap("one")
	c.eventually("on b", func() bool { return c.has("b", cm) && c.annotation(cm) == "b" })
	c.change(cm, map[string]any{"annotations": map[string]any{v1alpha1.AnnotationTargets: "a,b"}})
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
	synctest.Test(t, func(t *testing.T) {
		c, cm := left(t)
		c.restart()
		if c.has("a", cm) || !c.has("b", cm) {
			t.Error("the annotation that was not yet rewritten brought it back to a")
		}
	})
}

// The site has deleted it, but the center died before it heard of that.
func TestAnObjectDoesNotComeBackThatIsStillReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
	})
}

// Both have left a, and the center has not heard of that; then one of them is wished there, and not
// any more. The other one, whose annotation cannot be written, has nothing to do with that.
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
	c.label(one, map[string]any{v1alpha1.LabelTarget: nil})
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
	synctest.Test(t, func(t *testing.T) {
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
	})
}

// What the annotation says of an object that gets a wish means nothing.
func TestAWishOfItsOwnBeginsWhereTheObjectIsWhateverItsAnnotationSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, annotations := range []map[string]any{
			{v1alpha1.AnnotationTargets: "a"},
			{v1alpha1.AnnotationTargets: nil},
			{v1alpha1.AnnotationTargets: "c"},
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
	})
}

// What was noted says by chance where the object shall go.
func TestAWishOfItsOwnForWhatTheAnnotationSaysAlready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
	})
}

// The center died after the wish was written and before it was decided about.
func TestAWishOfItsOwnWithoutADecisionBeginsWhereTheObjectIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, cm := left(t)
		c.target("c", nil)
		c.stop()
		c.label(cm, map[string]any{v1alpha1.LabelTarget: "c"})
		c.restart()
		c.eventually("on c", func() bool { return c.has("c", cm) })
		if !c.has("b", cm) || c.has("a", cm) {
			t.Error("it is to stay on b until it is on c")
		}
		c.report("c", cm, nil)
		c.eventually("on c alone", func() bool { return !c.has("b", cm) && c.annotation(cm) == "c" })
	})
}

// An object that cannot be written is decided about, and holds nothing else up.
func TestNothingWaitsForAnObjectThatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, cm := left(t)
		two := c.configMap("two")
		c.eventually("both on b", func() bool { return c.has("b", two) })
		c.report("b", two, nil)
		c.refuse(cm)
		c.label(cm, map[string]any{v1alpha1.LabelTarget: "a"})
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "a"})
		c.eventually("both on both", func() bool { return c.has("a", cm) && c.has("a", two) && c.has("b", cm) })
		c.report("a", cm, nil)
		c.report("a", two, nil)
		c.eventually("both on a", func() bool { return !c.has("b", cm) && !c.has("b", two) })
	})
}

// What is created through a replica that does not lead has no stamp: the leader writes it before the
// object is in any feed.
func TestWhatAFollowerCreatesIsStampedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		one := c.configMap("one")
		c.eventually("on a", func() bool { return c.has("a", one) })
		c.follower = true
		two := key("", "configmaps", "two")
		c.refuse(two)
		c.configMap("two")
		time.Sleep(time.Minute)
		synctest.Wait()
		if c.has("a", two) {
			t.Error("it is in a feed, and nothing that is stored says with what it is")
		}
		c.refuse(store.Key{})
		c.eventually("stamped and sent", func() bool { return c.has("a", two) && c.annotation(two) == "a" })
		o, _ := c.Get(t.Context(), two, "v1")
		if got := fields.Clone(o, "metadata", "annotations", v1alpha1.AnnotationUnit); got != "uid-"+nsKey("app").String() {
			t.Errorf("it is with %q", got)
		}
		c.mu.Lock()
		if n := c.patches[two]; n != 1 {
			t.Errorf("%d writes", n)
		}
		c.mu.Unlock()
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		c.eventually("it moves with the others", func() bool { return c.has("b", one) && c.has("b", two) })
	})
}
