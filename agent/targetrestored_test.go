package agent

import "testing"

// The cluster of a site is restored from a backup: it becomes as desired again, though nobody owns
// a field otherwise, and is watched on.
func TestTargetRestoredFromABackup(t *testing.T) { inBubble(t, targetRestoredFromABackup) }

func targetRestoredFromABackup(t *testing.T) {
	for _, running := range []bool{true, false} {
		s := newSite(t)
		s.desire(
			configMap("default", "same", "1"),
			configMap("default", "older", "1"),
			deployment(1, "default", "web", 1),
		)
		s.settled()
		<-s.observer.Ready()
		backup := s.api.Backup()
		s.desire(
			configMap("default", "older", "2"),
			configMap("default", "later", "1"),
			deployment(2, "default", "web", 2),
		)
		s.settled()
		for range 20 {
			s.api.Put("v1", "Secret", "default", "unrelated", nil)
		}
		s.api.SetStatus("apps", "deployments", "default", "web", map[string]any{"replicas": 2})
		eventually(
			t,
			"the status is reported",
			func() bool { return replicas(s.report(deployment(2, "default", "web", 2).Key)).Replicas == 2 },
		)
		if running {
			s.api.Rewind(backup)
		} else {
			s.api.CutWatches()
			s.stop()
			s.api.Rewind(backup)
			s.start(s.DataDir)
		}
		eventually(t, "what was newer is back", func() bool {
			return s.data("older")["value"] == "2" && s.data("later")["value"] == "1" &&
				s.spec("web")["replicas"] == float64(2)
		})
		s.api.SetStatus("apps", "deployments", "default", "web", map[string]any{"replicas": 1})
		eventually(
			t,
			"statuses are reported on",
			func() bool { return replicas(s.report(deployment(2, "default", "web", 2).Key)).Replicas == 1 },
		)
		s.settled()
		s.api.Put("v1", "ConfigMap", "default", "same", data(map[string]any{"value": "theirs"}))
		eventually(t, "drift is seen on", func() bool { return s.data("same")["value"] == "1" })
	}
}
