package agent

import (
	"testing"

	"skerry.dev/skerry/agent/targettest"
)

// What a target refuses of an object that was deleted and made anew is told of the new one, whatever the
// target has or refused of the old one, and over a restart.
func TestRefusalsOfWhatWasMadeAnew(t *testing.T) { inBubble(t, refusalsOfWhatWasMadeAnew) }

func refusalsOfWhatWasMadeAnew(t *testing.T) {
	s := newSite(t)
	there, never := deployment(1, "default", "web", 1), configMap("default", "c", "1")
	s.desire(there)
	s.settled()
	<-s.observer.Ready()
	s.api.SetStatus("apps", "deployments", "default", "web", map[string]any{"replicas": 1})
	eventually(t, "the status is reported", func() bool { return replicas(s.report(there.Key)).Replicas == 1 })
	s.api.Refuse(func(_, plural, name string) *targettest.Refusal {
		if name != "web" && name != "c" {
			return nil
		}
		return &targettest.Refusal{Code: 403, Reason: "Forbidden", Message: "not " + plural}
	})
	s.desire(never)
	s.reported(never, "Forbidden")
	s.desire(anew(there), anew(never))
	told := func(when string) {
		t.Helper()
		for _, k := range []struct{ uid, of string }{{"second-source-deployments-web", "web"},
			{"second-source-configmaps-c", "c"}} {
			key := never.Key
			if k.of == "web" {
				key = there.Key
			}
			eventually(t, k.of+" is told "+when, func() bool {
				r := s.report(key)
				return r != nil && r.OriginUID == k.uid && r.Error != nil && r.Error.Reason == "Forbidden" &&
					r.Status == nil && r.Applied == ""
			})
		}
	}
	told("at once")
	s.api.SetStatus("apps", "deployments", "default", "web", map[string]any{"replicas": 2})
	s.stop()
	s.start(s.DataDir)
	<-s.observer.Ready()
	told("after a restart")
	s.api.Refuse(nil)
	s.applier.Retry()
	s.healthy(anew(there))
	s.healthy(anew(never))
	if r := s.report(there.Key); r.OriginUID != "second-source-deployments-web" || replicas(r).Replicas != 2 {
		t.Errorf("the new one reports %s", dump(r))
	}
}
