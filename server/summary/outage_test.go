package summary

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// reachable is the condition of an object, nil where it has none.
func (c *center) reachable(k store.Key) map[string]any {
	return byType(ours, c.status(k)["conditions"])[v1alpha1.ConditionObjectReachable]
}

func (c *center) unreachableSince(k store.Key) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	meta, _ := c.objects[k]["metadata"].(map[string]any)
	notes, _ := meta["annotations"].(map[string]any)
	since, _ := notes[v1alpha1.AnnotationUnreachable].(string)
	return since
}

// An object says within 30 s that its only site is silent, its status stays what it was, and it
// says nothing any more when the site is back.
func TestAnOutageIsACondition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		cm := key("", "configmaps", "plain")
		c.place(web, "apps/v1", "Deployment", "paris")
		c.place(cm, "v1", "ConfigMap", "paris")
		c.says("paris", web, &store.Report{OriginUID: "uid-web", Status: status(`{"replicas":2,"readyReplicas":2}`)})
		c.says("paris", cm, &store.Report{OriginUID: "uid-plain"})
		time.Sleep(time.Second)
		since := time.Now()
		c.falls("paris", true)
		time.Sleep(outageAge - 2*time.Second)
		if c.reachable(web) != nil || c.unreachableSince(cm) != "" {
			t.Error("told before the site could come back")
		}
		time.Sleep(3 * time.Second)
		want := "site paris has not been heard of since " + since.UTC().Format(
			time.RFC3339,
		) + "; what is shown is from then"
		is := c.reachable(web)
		if is["status"] != "False" || is["reason"] != "SiteSilent" || is["message"] != want ||
			is["lastTransitionTime"] != since.UTC().Format(time.RFC3339) {
			t.Errorf("condition %v, want the message %q", is, want)
		}
		if num(c.status(web)["readyReplicas"]) != 2 {
			t.Errorf("status %v", c.status(web))
		}
		if at := c.unreachableSince(cm); at != since.UTC().Format(time.RFC3339) ||
			len(c.eventsOf("SiteNotReachable")) != 1 {
			t.Errorf("a ConfigMap says %q, events %v", at, c.eventsOf("SiteNotReachable"))
		}
		writes := c.count()
		c.falls("paris", true) // the same again
		time.Sleep(time.Minute)
		if n := c.count() - writes; n > 2 {
			t.Errorf("%d writes while nothing changed", n)
		}
		c.falls("paris", false)
		time.Sleep(time.Second)
		if c.reachable(web) != nil || c.unreachableSince(cm) != "" {
			t.Errorf("the site is back: %v, %q", c.status(web), c.unreachableSince(cm))
		}
		c.stop()
	})
}

// A site that is back in time costs no write.
func TestAShortOutageCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(web, "apps/v1", "Deployment", "paris")
		c.says("paris", web, &store.Report{OriginUID: "uid-web", Status: status(`{"replicas":2}`)})
		time.Sleep(time.Second)
		writes := c.count()
		for range 5 {
			c.falls("paris", true)
			time.Sleep(outageAge - time.Second)
			c.falls("paris", false)
			time.Sleep(time.Minute)
		}
		if n := c.count() - writes; n != 0 {
			t.Errorf("%d writes", n)
		}
		c.stop()
	})
}

// Of an object on several targets the condition says which are silent, and is not written anew each
// time that one comes or goes.
func TestSomeSitesAreSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		var targets []string
		for i := range 8 {
			targets = append(targets, fmt.Sprintf("site-%d", i))
		}
		c.place(web, "apps/v1", "Deployment", targets...)
		for _, s := range targets {
			c.says(s, web, &store.Report{OriginUID: "uid-web", Status: status(`{"replicas":1}`)})
		}
		time.Sleep(time.Second)
		writes := c.count()
		for _, s := range targets[:5] {
			c.falls(s, true)
			time.Sleep(time.Second)
		}
		time.Sleep(2 * time.Minute)
		is := c.reachable(web)
		if text := fmt.Sprint(is["message"]); is["reason"] != "SomeSitesNotReachable" ||
			!strings.HasPrefix(text, "5 of 8 sites: site site-0 has") ||
			!strings.Contains(text, "and 2 more") {
			t.Errorf("condition %v", is)
		}
		if n := c.count() - writes; n > 3 {
			t.Errorf("%d writes for five outages of one object", n)
		}
		c.stop()
	})
}

// When many sites with 20 objects each vanish at once, the writes are spread; another one that
// vanishes then is told all the same, and when all are back before their turn nothing is written
// for them.
func TestManyOutagesArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sites, each = 100, 20
		c := newCenter(t)
		last := web
		for i := range sites {
			for j := range each {
				last = key("apps", "deployments", fmt.Sprintf("web-%d-%d", i, j))
				c.place(last, "apps/v1", "Deployment", fmt.Sprintf("site-%d", i))
				c.says(
					fmt.Sprintf("site-%d", i),
					last,
					&store.Report{OriginUID: "uid-" + last.Name, Status: status(`{"replicas":1}`)},
				)
			}
		}
		c.place(web, "apps/v1", "Deployment", "paris")
		c.says("paris", web, &store.Report{OriginUID: "uid-web", Status: status(`{"replicas":2}`)})
		time.Sleep(time.Second)
		writes := c.count()
		for i := range sites {
			c.falls(fmt.Sprintf("site-%d", i), true)
		}
		time.Sleep(30 * time.Second)
		early := c.count() - writes
		t.Logf("%d writes in the first 30 s", early)
		if limit := int((30*time.Second-outageAge)/outagePace) + 200; early == 0 || early > limit {
			t.Errorf("%d writes in the first 30 s, at most %d", early, limit)
		}
		c.falls("paris", true)
		time.Sleep(30 * time.Second)
		if c.reachable(web) == nil {
			t.Error("a site that vanished later is not told within 30 s")
		}
		told := c.count() - writes
		for i := range sites {
			c.falls(fmt.Sprintf("site-%d", i), false)
		}
		time.Sleep(5 * time.Minute)
		if n := c.count() - writes; n != 2*told-1 {
			t.Errorf(
				"%d writes: %d for those that were told, and as many to take it back, less the one site that is still away",
				n,
				told,
			)
		}
		for i := range sites {
			c.falls(fmt.Sprintf("site-%d", i), true)
		}
		writes = c.count()
		began := time.Now()
		for ; c.reachable(last) == nil || c.count()-writes < sites*each; time.Sleep(time.Second) {
			if time.Since(began) > 10*time.Minute {
				t.Fatalf("%d of %d objects are told after %s", c.count()-writes, sites*each, time.Since(began))
			}
		}
		t.Logf(
			"%d sites with %d objects each are all told after %s, with %d writes",
			sites,
			each,
			time.Since(began),
			c.count()-writes,
		)
		c.stop()
	})
}

func (c *center) eventsOf(reason string) (out []store.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, o := range c.objects {
		if k.Resource == "events" && o["reason"] == reason {
			out = append(out, k)
		}
	}
	return out
}
