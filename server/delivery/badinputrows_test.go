package delivery

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/spaceapi/spaceapitest"
	"skerry.dev/skerry/store"
)

// A policy of root that overrides and contradicts the space wins, and the space's Placement says so. One that
// nothing fulfils says that, and what runs stays where it is.
func TestAPolicyThatContradictsItsSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		p := c.placement("p", 1, []any{"a"}, nil)
		web := c.deployment("web", map[string]any{"app": "web"}, "")
		c.eventually("on a", func() bool { return c.has("a", web) })
		c.report("a", web, nil)
		must := c.projected("must", v1alpha1.PrecedenceOverride, "nobody")
		c.eventually("the policy says that there is no such target", func() bool {
			status, reason, _ := c.placementCondition(must, v1alpha1.ConditionScheduled)
			return status == "False" && reason == "NoSuchTarget"
		})
		c.eventually("the Placement says that something else decides", func() bool {
			_, reason, message := c.placementCondition(p, v1alpha1.ConditionScheduled)
			return reason == nothingSelected && strings.Contains(message, "that nothing before this Placement decides about")
		})
		explained, err := c.d.Review(t.Context(), "shop", v1alpha1.PlacementReviewSpec{Placement: "p"})
		if want := "selects 1 objects that something before this Placement decides about: deployments/web by " +
			"Placement root.must"; err != nil || !strings.Contains(explained.Message, want) {
			t.Errorf("skerry explain placement p says %q, %v", explained.Message, err)
		}
		time.Sleep(time.Hour)
		if !c.has("a", web) {
			t.Fatal("a policy that nothing fulfils has taken away what runs")
		}
		c.put(must, nil)
		c.projected("must", v1alpha1.PrecedenceOverride, "b")
		c.eventually("on b, by the policy", func() bool {
			c.reportIfHas("b", web)
			return c.has("b", web) && !c.has("a", web)
		})
	})
}

// Of a workload with fewer replicas than targets the first ones have one each. It says which have none, until it
// has more or fewer targets; not when it is to have none at all, nor of targets of weight 0.
func TestFewerReplicasThanTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.divided(1, nil, "a", "b")
		c.namespace("app", nil)
		web := c.replicas("web", 1)
		c.shared(web, `{"a":1}`, "a", "b")
		says := func(want string) {
			t.Helper()
			c.eventually("it says "+want, func() bool {
				s := c.saidScheduled(web)
				return want == "" && s.Status || want != "" && !s.Status && s.Reason == catalog.TooFewReplicas &&
					strings.Contains(s.Message, want)
			})
		}
		says("spec.replicas is 1, and its Placement divides them among 2 targets: none runs on b; raise spec.replicas")
		c.restart()
		says("none runs on b")
		c.replicas("web", 2)
		says("")
		c.replicas("web", 1)
		says("none runs on b")
		c.replicas("web", 0)
		says("")
		c.replicas("web", 1)
		says("none runs on b")
		c.divided(2, map[string]any{"weights": []any{map[string]any{"names": []any{"b"}, "weight": 0}}}, "a", "b")
		says("")
	})
}

// A target that refuses a part of what comes to it, whatever the reason, gets nothing in the place of what runs:
// the one that is to be left keeps all of it, people are told the target's words, and it goes back in time.
func TestATargetThatRefusesLeavesTheOtherWhole(t *testing.T) {
	for _, why := range []store.ReportError{
		{Reason: "Invalid", Message: "spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated"},
		{Reason: "QuotaExceeded", Message: "exceeded quota: small"},
		{Reason: "AlreadyExists", Message: "there is another deployment of this name"},
		{Reason: "Forbidden", Message: "the site's policy allows no hostPath"},
	} {
		t.Run(why.Reason, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { refusedByTarget(t, &why) }) })
	}
}

func refusedByTarget(t *testing.T, why *store.ReportError) {
	c := shop(t)
	c.target("c", nil)
	c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
	web, other := c.deployment("web", nil, ""), c.deployment("other", nil, "")
	c.eventually("on a", func() bool { return c.has("a", web) && c.has("a", other) })
	c.report("a", web, nil)
	c.report("a", other, nil)
	c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
	c.eventually("on both", func() bool { return c.has("b", web) && c.has("b", other) })
	c.report("b", other, nil)
	c.report("b", web, func(p *placement.Progress) { p.Ready, p.Available, p.Refused = false, 0, why })
	c.eventually("people are told the target's words", func() bool {
		_, _, message := c.namespaceMoving()
		return strings.Contains(message, why.Message) && strings.Contains(message, "deployments/web")
	})
	time.Sleep(placement.ReadyTimeout - time.Minute)
	synctest.Wait()
	if !c.has("a", web) || !c.has("a", other) {
		t.Fatal("a has lost a part of what runs")
	}
	time.Sleep(2 * time.Minute)
	c.eventually("it goes back", func() bool { return !c.has("b", web) && !c.has("b", other) })
	if !c.has("a", web) || !c.has("a", other) {
		t.Fatal("a has lost a part of what runs")
	}
	c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "c"})
	c.eventually("the next candidate has it", func() bool {
		c.reportIfHas("c", web)
		c.reportIfHas("c", other)
		return c.has("c", web) && c.has("c", other) && !c.has("a", web) && !c.has("a", other)
	})
}

// A policy of root that wishes the objects of many spaces nowhere takes them off, and intends no deletion: each
// site's own guard counts them, and asks when they are most of what it has. A move is intended.
func TestNowhereForManyIsNotIntended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		web := c.deployment("web", nil, "")
		usual := c.projected("usual", v1alpha1.PrecedenceOverride, "a")
		c.eventually("on a", func() bool { return c.has("a", web) })
		c.report("a", web, nil)
		intended := func(target string) bool {
			e, ok := c.d.Feed(target).Get(web)
			return ok && e.Tombstone && c.d.Feed(target).Intended(web)
		}
		c.put(usual, nil)
		c.projected("usual", v1alpha1.PrecedenceOverride, "b")
		c.eventually("on b", func() bool {
			c.reportIfHas("b", web)
			return c.has("b", web) && !c.has("a", web)
		})
		if !intended("a") {
			t.Error("a move is not intended")
		}
		o, err := c.Get(t.Context(), usual, "")
		if err != nil {
			t.Fatal(err)
		}
		o = spaceapitest.Clone(o)
		spaceapitest.Merge(o, map[string]any{"metadata": map[string]any{"generation": 2},
			"spec": map[string]any{"targets": map[string]any{"count": int64(0)}}})
		c.put(usual, o)
		c.eventually("nowhere", func() bool { return !c.has("a", web) && !c.has("b", web) })
		c.wantRemoval("b", web, store.RemoveDelete)
		if intended("b") {
			t.Error("the guard of a site that loses all would not ask")
		}
	})
}
