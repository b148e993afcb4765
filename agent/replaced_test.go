package agent

import (
	"strings"
	"testing"

	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

// A cluster that was built anew under a known site is a new, empty target: what is placed there is
// made there, while the agent runs or was stopped, with the parent or without, and it is said.
func TestReplacedClusterIsFilledAnew(t *testing.T) {
	t.Parallel()
	for what, running := range map[string]bool{"running": true, "stopped": false} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			filledAnew(t, running)
		})
	}
}

func filledAnew(t *testing.T, running bool) {
	c, api, dir := newCenter(t), targettest.NewInMemory(t), t.TempDir()
	empty := api.Backup()
	w := c.agent(dir, api, c.token.String())
	all := []store.Entry{namespace("app"), deployment(1, "app", "web", 1), configMap("app", "config", "1")}
	c.place(all...)
	c.eventuallyApplied(all)
	asked := api.Listed(identifying)
	eventually(t, "the agent knows its cluster", func() bool { return api.Listed(identifying) > asked })
	rebuild := func() {
		api.Rewind(empty)
		api.Remove("", "namespaces", "", "kube-system")
		api.Put("v1", "Namespace", "", "kube-system", nil)
	}
	if running {
		rebuild()
	} else {
		w.stop()
		rebuild()
		c.close() // without the parent
		w = c.agent(dir, api, "")
	}
	eventually(t, "everything is made anew", func() bool {
		for _, e := range all {
			if objectOf(api, e) == nil {
				return false
			}
		}
		return true
	})
	uid := api.Object("", "namespaces", "", "kube-system")["metadata"].(map[string]any)["uid"]
	eventually(t, "the site knows its new cluster, and nothing of the former one", func() bool {
		known, err := openSiteIdentity(dir, discard())
		return err == nil && known.target().Cluster == uid && known.replaced() == ""
	})
	w.stop()
}

// That the cluster is another one is a condition, from the start of the agent that begins anew on.
func TestReplacedClusterIsSaid(t *testing.T) { inBubble(t, replacedClusterIsSaid) }

func replacedClusterIsSaid(t *testing.T) {
	s := newSite(t)
	s.desire(configMap("default", "a", "1"))
	s.settled()
	eventually(t, "the cluster is known", func() bool { return s.known.get().Cluster != "" })
	before := s.known.get()
	s.stop()
	now := before
	now.Cluster = "another"
	s.identity.replace(now)
	s.start(s.DataDir)
	c, ok := s.conditions.Get(tunnel.ClusterUnchanged)
	if !ok || c.Status != tunnel.False || !strings.Contains(c.Message, before.Cluster) ||
		!strings.Contains(c.Message, "another") {
		t.Errorf("%+v", c)
	}
}
