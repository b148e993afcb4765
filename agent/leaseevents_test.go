package agent

import (
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/lease"
)

// siteEvents are the Events that the agent has written at the target about an object, in order.
func (s *site) siteEvents(kind, name string) (all []map[string]any) {
	for _, w := range s.api.Writes() {
		if !strings.Contains(w.Path, "/events/") {
			continue
		}
		o := s.api.Object("", "events", "default", path.Base(w.Path))
		if about, _ := o["involvedObject"].(map[string]any); about["kind"] == kind && about["name"] == name {
			all = append(all, o)
		}
	}
	return all
}

// hasEvents reports whether an object has Events with these types and reasons.
func (s *site) hasEvents(kind, name string, want ...string) func() bool {
	return func() bool {
		var got []string
		for _, e := range s.siteEvents(kind, name) {
			got = append(got, e["type"].(string)+" "+e["reason"].(string))
		}
		return slices.Equal(got, want)
	}
}

func statefulSet(name string) store.Entry {
	return live("apps", "statefulsets", "apps/v1", "StatefulSet", "default", name,
		map[string]any{"spec": map[string]any{"replicas": 1}})
}

// Who looks at the cluster sees by an Event why an object was stopped, once for each end of the lease,
// also over a restart of the agent, and that it runs again.
func TestTheEndOfALeaseIsToldAtTheSite(t *testing.T) {
	const ended, renewed = "Warning LeaseEnded", "Normal LeaseRenewed"
	s := newSite(t)
	db := statefulSet("db")
	pod := live("", "pods", "v1", "Pod", "default", "once", map[string]any{"spec": map[string]any{
		"volumes": []any{map[string]any{"persistentVolumeClaim": map[string]any{"claimName": "data"}}}}})
	web := deployment(1, "default", "web", 1)
	s.desire(db, pod, web)
	s.settled()
	terms := lease.Terms{Duration: time.Hour, Stop: true}
	s.renew(terms, time.Hour, false)
	s.renew(terms, time.Nanosecond, false)
	eventually(t, "the StatefulSet's Event", s.hasEvents("StatefulSet", "db", ended))
	eventually(t, "the Pod's Event", s.hasEvents("Pod", "once", ended))
	uid := s.uid("apps", "statefulsets", "default", "db")
	o := s.siteEvents("StatefulSet", "db")[0]
	about, _ := o["involvedObject"].(map[string]any)
	if message, _ := o["message"].(string); about["uid"] != uid || about["apiVersion"] != "apps/v1" ||
		!strings.Contains(message, "the lease of this site has ended: its parent last renewed it at ") ||
		!strings.Contains(message, "StatefulSet must not run twice and is scaled to zero") {
		t.Errorf("the Event says %v", o)
	}

	// A restart tells it again to nobody, and knows what it has to start.
	s.settled()
	s.restart(false)
	s.settled()
	s.leased.Begin()
	s.renew(terms, time.Hour, false)
	eventually(t, "the StatefulSet runs again", s.is(db, "replicas", 1))
	eventually(t, "its Event says so", s.hasEvents("StatefulSet", "db", ended, renewed))
	s.renew(terms, time.Nanosecond, false)
	eventually(t, "the next end has an Event", s.hasEvents("StatefulSet", "db", ended, renewed, ended))
	if got := s.siteEvents("Deployment", "web"); got != nil {
		t.Errorf("what was not stopped has %v", got)
	}
	if reported := s.onlyEvent(); reported != nil {
		t.Errorf("the parent is told %v: it knows the lease", reported)
	}
}

// An agent that may not write Events stops what it has to, and starts it again.
func TestAnAgentWithoutTheRightToWriteEventsGoesOn(t *testing.T) {
	s := newSite(t)
	s.api.Refuse(func(_, plural, _ string) *targettest.Refusal {
		if plural != "events" {
			return nil
		}
		return &targettest.Refusal{Code: http.StatusForbidden, Reason: "Forbidden", Message: "cannot create events"}
	})
	a, b := statefulSet("a"), statefulSet("b")
	s.desire(a, b)
	s.settled()
	terms := lease.Terms{Duration: time.Hour, Stop: true}
	for range 2 {
		s.renew(terms, time.Nanosecond, false)
		eventually(t, "both are stopped", func() bool { return s.is(a, "replicas", 0)() && s.is(b, "replicas", 0)() })
		s.leased.Begin()
		s.renew(terms, time.Hour, false)
		eventually(t, "both run again", func() bool { return s.is(a, "replicas", 1)() && s.is(b, "replicas", 1)() })
	}
	if got := append(s.siteEvents("StatefulSet", "a"), s.siteEvents("StatefulSet", "b")...); got != nil {
		t.Errorf("Events %v", got)
	}
}
