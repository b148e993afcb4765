package agent

import (
	"fmt"
	"testing"
	"time"

	"skerry.dev/skerry/store"
)

// warn makes the target say something about an object.
func (s *site) warn(name, kind, about, uid, reason string, count int, last time.Time, more map[string]any) string {
	e := map[string]any{
		"type": "Warning", "reason": reason, "message": reason + " it", "count": count,
		"source":         map[string]any{"component": "kubelet"},
		"firstTimestamp": "2026-11-21T10:00:00Z", "lastTimestamp": last.UTC().Format(time.RFC3339),
		"involvedObject": map[string]any{
			"apiVersion": "v1",
			"kind":       kind,
			"namespace":  "default",
			"name":       about,
			"uid":        uid,
		},
	}
	for k, v := range more {
		e[k] = v
	}
	return s.api.Put("v1", "Event", "default", name, e)
}

// events are the reported ones.
func (s *site) events() map[store.Key]*store.ReportEvent {
	out := map[store.Key]*store.ReportEvent{}
	for _, e := range s.observer.Feed().All() {
		if e.Key.Resource == "events" {
			if r := s.report(e.Key); r != nil {
				out[e.Key] = r.Event
			}
		}
	}
	return out
}

func (s *site) onlyEvent() *store.ReportEvent {
	for _, e := range s.events() {
		return e
	}
	return nil
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestWarningsAboutWhatIsPlacedAreReported(t *testing.T) {
	inBubble(t, warningsAboutWhatIsPlacedAreReported)
}

func warningsAboutWhatIsPlacedAreReported(t *testing.T) {
	s := newSite(t)
	d := deployment(1, "default", "web", 1)
	s.desire(d)
	s.settled()
	<-s.observer.Ready()
	set := s.api.Put("apps/v1", "ReplicaSet", "default", "web-1", owned(s.uid("apps", "deployments", "default", "web")))
	foreign := s.api.Put("v1", "Pod", "default", "other", nil)
	s.warn("e-foreign", "Pod", "other", foreign, "BackOff", 1, noon, nil)
	s.warn("e-early", "Pod", "web-1-a", "uid-to-come", "Early", 1, noon, nil)
	pod := s.api.Put("v1", "Pod", "default", "web-1-a", owned(set))
	eventually(t, "the pod is reported", func() bool { return s.report(podKey("default", "web-1-a")) != nil })
	s.warn("e-normal", "Pod", "web-1-a", pod, "Pulled", 1, noon, map[string]any{"type": "Normal"})
	s.warn(
		"e-own",
		"Pod",
		"web-1-a",
		pod,
		"Own",
		1,
		noon,
		map[string]any{"source": map[string]any{"component": "skerry"}},
	)
	s.warn("e-relay", "Deployment", "web", s.uid("apps", "deployments", "default", "web"), "Failed", 5, noon,
		map[string]any{"reportingComponent": "skerry"}) // a relay says at the Deployment what it shows at the Pod
	s.warn("e1", "Pod", "web-1-a", pod, "Failed", 5, noon, nil)
	eventually(t, "the warning is reported", func() bool { return len(s.events()) == 1 })
	for k, e := range s.events() {
		r := s.report(k)
		if e.Owner != (store.EventObject{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}) ||
			e.About == nil || e.About.Name != "web-1-a" || e.Reason != "Failed" ||
			e.Message != "Failed it" || e.Component != "kubelet" || e.Count != 4 ||
			r.OriginUID != "source-deployments-web" ||
			r.At != noon.UnixMilli() {
			t.Errorf("reported as %+v about %+v of %s", e, e.About, dump(r))
		}
		if entry, _ := s.observer.Feed().Get(k); entry.Priority != store.PriorityEvent {
			t.Errorf("with priority %d", entry.Priority)
		}
	}
	s.warn(
		"e2",
		"Deployment",
		"web",
		s.uid("apps", "deployments", "default", "web"),
		"ReplicaSetCreateError",
		1,
		noon,
		nil,
	)
	eventually(t, "one about the placed object itself", func() bool {
		for _, e := range s.events() {
			if e.About == nil && e.Reason == "ReplicaSetCreateError" {
				return true
			}
		}
		return false
	})
	// The pod goes, and what was said of it; then the Deployment.
	s.api.Remove("", "pods", "default", "web-1-a")
	eventually(
		t,
		"what is about the pod is gone",
		func() bool { return len(s.events()) == 1 && s.onlyEvent().About == nil },
	)
	s.desire(gone(d))
	s.settled()
	eventually(t, "nothing is left", func() bool { return s.observer.Feed().Len() == 0 })
}

func TestARepetitionIsNoNews(t *testing.T) { inBubble(t, aRepetitionIsNoNews) }

func aRepetitionIsNoNews(t *testing.T) {
	s := newSite(t)
	s.desire(deployment(1, "default", "web", 1))
	s.settled()
	<-s.observer.Ready()
	uid := s.uid("apps", "deployments", "default", "web")
	s.warn("e", "Deployment", "web", uid, "Failed", 4, noon, nil)
	eventually(t, "it is reported", func() bool { return len(s.events()) == 1 })
	before := s.observer.Feed().Root()
	for i := range 3 { // 5, 6 and 7 are no twice 4
		s.warn("e", "Deployment", "web", uid, "Failed", 5+i, noon.Add(time.Duration(i)*time.Minute), nil)
	}
	s.warn("other", "Deployment", "web", uid, "Other", 1, noon, nil)
	eventually(t, "another reason is reported", func() bool { return len(s.events()) == 2 })
	s.api.Remove("", "events", "default", "other")
	eventually(t, "the target has forgotten it", func() bool { return len(s.events()) == 1 })
	if s.observer.Feed().Root() != before {
		t.Errorf("reported as %+v", s.onlyEvent())
	}
	s.restart(false)
	<-s.observer.Ready()
	if s.observer.Feed().Root() != before {
		t.Errorf("after a restart: %+v", s.onlyEvent())
	}
	s.warn("e", "Deployment", "web", uid, "Failed", 8, noon.Add(3*time.Minute), nil)
	eventually(t, "twice as often is news", func() bool { return s.onlyEvent().Count == 8 })
	s.warn("e", "Deployment", "web", uid, "Failed", 9, noon.Add(40*time.Minute), nil)
	eventually(t, "so is that it goes on", func() bool { return s.onlyEvent().During > noon.Unix()/1800 })
}

func TestEventsAreBounded(t *testing.T) { inBubble(t, eventsAreBounded) }

func eventsAreBounded(t *testing.T) {
	s := newSite(t)
	s.desire(deployment(1, "default", "web", 1), deployment(1, "default", "db", 1))
	s.settled()
	<-s.observer.Ready()
	for i := range 30 {
		s.warn(
			fmt.Sprint("w", i),
			"Deployment",
			"web",
			s.uid("apps", "deployments", "default", "web"),
			fmt.Sprint("Web", i),
			1,
			noon.Add(time.Duration(i)*time.Second),
			nil,
		)
	}
	s.warn("d", "Deployment", "db", s.uid("apps", "deployments", "default", "db"), "Db", 1, noon, nil)
	eventually(t, "the last of one, and those of another", func() bool {
		got := map[string]bool{}
		for _, e := range s.events() {
			got[e.Reason] = true
		}
		return len(got) == 11 && got["Db"] && got["Web29"] && got["Web20"]
	})
}
