package delivery

import (
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

func TestWhatDoesNothingSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		k := store.Key{Space: "shop", Group: "apps", Resource: "deployments", Namespace: "kube-public", Name: "agent"}
		m := meta("agent")
		m["namespace"] = "kube-public"
		told := func() (n int) {
			c.reports.Lock()
			defer c.reports.Unlock()
			for _, e := range c.events {
				if e.Key == k && e.Reason == placement.NeverPlaced && e.Warning && e.UID != "" {
					n++
				}
			}
			return n
		}
		c.put(k, obj("apps/v1", "Deployment", m))
		if told() != 1 {
			t.Errorf("%d Events", told())
		}
		c.restart()
		c.put(k, nil)
		if told() != 1 {
			t.Errorf("%d Events after a restart and its deletion", told())
		}
	})
}
