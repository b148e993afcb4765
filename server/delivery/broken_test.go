package delivery

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
)

// TestWhatIsBrokenCanLeave moves a Deployment of which one replica of three was available.
func TestWhatIsBrokenCanLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		good, bad := c.deployment("good", nil, ""), c.deployment("bad", nil, "")
		c.eventually("on a", func() bool { return c.has("a", good) && c.has("a", bad) })
		c.report("a", good, nil)
		part := func(p *placement.Progress) { p.Ready, p.Available = false, 1 }
		c.report("a", bad, part)
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		c.eventually("on both", func() bool { return c.has("b", good) && c.has("b", bad) })
		c.report("b", bad, part)
		c.report("b", good, func(p *placement.Progress) { p.Available = 2 })
		time.Sleep(time.Minute)
		if !c.has("a", good) {
			t.Fatal("what was whole on a is not whole on b")
		}
		c.report("b", good, nil)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if !c.has("a", bad) {
			t.Fatal("what is short on a for a moment is short on b")
		}
		time.Sleep(time.Minute)
		c.eventually("a is left", func() bool { return !c.has("a", good) && !c.has("a", bad) && c.has("b", bad) })
	})
}

// TestAPausedDeploymentIsNamed: it makes no Pods on the target that it comes to.
func TestAPausedDeploymentIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		web := c.workloadOf(key("apps", "deployments", "web"), "apps/v1", "Deployment",
			map[string]any{"replicas": int64(3), "paused": true})
		c.eventually("on a", func() bool { return c.has("a", web) })
		c.report("a", web, nil)
		c.label(nsKey("app"), map[string]any{v1alpha1.LabelTarget: "b"})
		c.eventually("on both", func() bool { return c.has("b", web) })
		c.report("b", web, func(p *placement.Progress) { p.Available = 0 })
		c.eventually("it is named", func() bool {
			_, _, message := c.namespaceMoving()
			return strings.Contains(message, "deployments/web is paused") &&
				strings.Contains(message, "kubectl rollout resume deployment/web -n app")
		})
	})
}
