package services

import (
	"testing"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// webPods are the labels of the Pods of the Service web.
var webPods = map[string]string{"app": "web", "more": "x"}

// webKey is the Service web in its space.
var webKey = store.Key{Space: "shop", Resource: "services", Namespace: "app", Name: "web"}

// ledAway reports whether the Service is to have no Pods of this site, and whether it was written as that.
func (s *site) ledAway() bool { return s.LedAway(webKey) && s.again.Load() > 0 }

// selector is that of the Service as the site knows it.
func (s *site) selector() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	is, err := specOf(s.known[name0("web")])
	if err != nil {
		return nil
	}
	return is.Selector
}

// writeAnew writes the Service as LedAway says.
func (s *site) writeAnew(k store.Key) {
	s.again.Add(1)
	o := service(target.ReachSpace, port("http", 80, "TCP"))
	if s.LedAway(k) {
		o["spec"].(m)["selector"].(m)[target.LabelLedAway] = "true"
	}
	s.api.Replace("v1", "Service", "app", "web", o)
}

// leavingSite is a site with a Pod of the Service that is ready, where leading takes no time but that of the cluster.
func leavingSite(t *testing.T, up *parent, leave time.Duration) *site {
	api := newAPI(t)
	uid := api.Put("v1", "Service", "app", "web", service(target.ReachSpace, port("http", 80, "TCP")))
	s := &site{api: api, up: up, uid: uid, times: leadTimes{time.Millisecond, time.Minute, leave}}
	run(t, s, t.TempDir())
	eventually(t, "the name leads to the agent", s.ready)
	s.clusterSlice(true)
	eventually(t, "a Pod is ready here", func() bool { return !s.ready() })
	return s
}

func (s *site) mayGo() bool { return s.Leaving("app", webPods) == 0 }

// What answers here goes when its callers are led to another site: first the way there is open, then the Service has
// no Pods here, then they may go. After that it selects them as before.
func TestCallersAreLedAwayFirst(t *testing.T) {
	s := leavingSite(t, newParent(t), time.Minute)
	if s.mayGo() {
		t.Fatal("it may go at once")
	}
	eventually(t, "the way is open beside the Pod", s.ready)
	eventually(t, "the Pod is taken off the Service", s.ledAway)
	eventually(t, "that is known", func() bool { return s.selector()[target.LabelLedAway] != "" })
	if s.mayGo() {
		t.Error("it may go while the cluster sends callers to it")
	}
	s.clusterSlice(false)
	eventually(t, "it may go", s.mayGo)
	if !s.ledAway() || !s.ready() {
		t.Error("callers do not stay led away")
	}
}

// The Service selects its Pods again when those that were deleted have had time to end.
func TestAServiceSelectsAsBefore(t *testing.T) {
	s := leavingSite(t, newParent(t), 50*time.Millisecond)
	s.mayGo()
	eventually(t, "the Pod is taken off the Service", s.ledAway)
	s.clusterSlice(false)
	eventually(t, "it may go", s.mayGo)
	eventually(t, "it selects as before", func() bool { return !s.LedAway(webKey) && s.again.Load() == 2 })
}

// Where no other site answers, and for what no such Service selects, nobody waits.
func TestNobodyWaitsForNothing(t *testing.T) {
	up := newParent(t)
	s := leavingSite(t, up, 50*time.Millisecond)
	for what, left := range map[string]struct {
		namespace string
		pods      map[string]string
	}{
		"another namespace": {"front", webPods},
		"other Pods":        {"app", map[string]string{"app": "api"}},
	} {
		if wait := s.Leaving(left.namespace, left.pods); wait != 0 {
			t.Errorf("%s waits %s", what, wait)
		}
	}
	up.mu.Lock()
	up.cut = true
	up.mu.Unlock()
	s.mayGo()
	eventually(t, "without another site it may go", s.mayGo)
	if s.LedAway(webKey) || s.again.Load() != 0 {
		t.Error("its callers are led to nobody")
	}
	s.clusterSlice(false)
	eventually(t, "no Pod is ready here", s.ready)
	eventually(t, "the last one is forgotten", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.leads) == 0
	})
	if !s.mayGo() {
		t.Error("what is not ready waits")
	}
}

// Where another site will answer, callers are led to this machine, where they wait.
func TestCallersAreLedToWhatMoves(t *testing.T) {
	up := newParent(t)
	up.set(true)
	s := leavingSite(t, up, time.Minute)
	s.mayGo()
	eventually(t, "the Pod is taken off the Service", s.ledAway)
	s.clusterSlice(false)
	eventually(t, "it may go", s.mayGo)
	caller := s.dial(t, "http")
	eventually(t, "who calls waits", func() bool { return s.waiting() == 1 })
	up.set(false)
	greeted(t, caller)
}
