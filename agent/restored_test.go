package agent

import (
	"testing"

	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/store"
)

// identifying is what an agent lists to learn which cluster its target is, and how far that is.
const identifying = "/api/v1/namespaces?metadata.name=kube-system"

// A restored cluster has again what was deleted, and what was moved away runs there a second time.
// All of it goes, whether something else is watched there or nothing is left, and whether the agent
// runs or was stopped meanwhile.
func TestRestoredClusterLosesWhatWasDeleted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		kept, running bool
	}{{"something is left", true, true}, {"nothing is left", false, true},
		{"something is left, stopped", true, false}, {"nothing is left, stopped", false, false}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			restored(t, c.kept, c.running)
		})
	}
}

func restored(t *testing.T, kept, running bool) {
	c, api, dir := newCenter(t), targettest.NewInMemory(t), t.TempDir()
	w := c.agent(dir, api, c.token.String())
	stays, goes := deployment(
		1,
		"default",
		"stays",
		1,
	), []store.Entry{
		namespace("app"),
		deployment(1, "app", "web", 1),
		configMap("app", "config", "1"),
	}
	all := goes
	if kept {
		all = append([]store.Entry{stays}, goes...)
	}
	c.place(all...)
	c.eventuallyApplied(all)
	backup := api.Backup()
	var removed []store.Entry
	for _, e := range goes {
		removed = append(removed, gone(e))
	}
	c.place(removed...)
	isGone := func() bool {
		for _, e := range goes {
			if objectOf(api, e) != nil {
				return false
			}
		}
		return true
	}
	eventually(t, "what was deleted is gone", isGone)
	for range 20 {
		api.Put("v1", "Secret", "default", "unrelated", nil)
	}
	asked := api.Listed(identifying)
	eventually(
		t,
		"the agent has asked how far the target is, and had the answer before it asked again",
		func() bool { return api.Listed(identifying) > asked+1 },
	)
	if running {
		api.Rewind(backup)
	} else {
		w.stop()
		api.Rewind(backup)
		w = c.agent(dir, api, "")
	}
	if isGone() {
		t.Fatal("the restore brought nothing back")
	}
	eventually(t, "what the restore brought back is gone again", isGone)
	if kept && objectOf(api, stays) == nil {
		t.Error("what is still desired is gone, too")
	}
	w.stop()
}
