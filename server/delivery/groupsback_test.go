package delivery

import (
	"testing"
	"testing/synctest"
	"time"
)

// Replicas that are divided go to the first groups, as one target of a group that is filled does; what has left the
// first group goes back to it after failbackAfter, with all of its replicas.
func TestDividedReplicasGoBackToTheFirstGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		own := map[string]any{"own": ""}
		c.target("b", own)
		c.target("a", nil)
		c.namespace("app", nil)
		in := func(generation, count int64) {
			group := func(operator string) map[string]any {
				return map[string]any{"selector": map[string]any{"matchExpressions": []any{
					map[string]any{"key": "own", "operator": operator}}}}
			}
			c.placement("p", generation, nil, map[string]any{"failover": map[string]any{"failbackAfter": "5m"},
				"targets": map[string]any{"groups": []any{group("Exists"), group("DoesNotExist")}, "count": count,
					"replicas": "Divided"}})
		}
		in(1, 2)
		web := c.replicas("web", 4)
		arrives := func() {
			c.arrives("a", web)
			c.arrives("b", web)
		}
		c.shared(web, `{"a":2,"b":2}`, "a", "b")
		arrives()
		in(2, 1)
		only := func(has, hasNot, shares string) {
			t.Helper()
			c.eventually("all of it is on "+has, func() bool {
				arrives()
				return c.sharesOf(has, web) == shares && !c.has(hasNot, web)
			})
		}
		only("b", "a", `{"b":4}`)
		c.spec("b", drainSpec, map[string]any{"labels": own})
		only("a", "b", `{"a":4}`)
		c.target("b", own)
		time.Sleep(4 * time.Minute)
		synctest.Wait()
		if c.has("b", web) {
			t.Error("it goes back at once")
		}
		time.Sleep(2 * time.Minute)
		only("b", "a", `{"b":4}`)
	})
}
