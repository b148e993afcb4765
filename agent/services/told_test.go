package services

import (
	"net/http"
	"testing"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel/exchange"
)

// told waits for a call, and returns what the parent was told of the caller of the last one.
func (s *site) told(t *testing.T) (is exchange.Caller) {
	t.Helper()
	s.up.mu.Lock()
	defer s.up.mu.Unlock()
	if len(s.up.calls) == 0 || s.up.calls[len(s.up.calls)-1].Caller == "" {
		return exchange.Caller{}
	}
	is, err := exchange.ReadCaller(s.up.calls[len(s.up.calls)-1].Caller)
	if err != nil {
		t.Error(err)
	}
	return is
}

// Another site hears which Pod calls, by the names that its space has, whether the Pod is known or was asked for.
func TestWhoCallsIsTold(t *testing.T) {
	labelled := namespace("shop", "u-shop")
	labelled["metadata"].(m)["labels"] = m{target.LabelSite: "s-1", "team": "a", target.LabelNamespaceName: "eu-front"}
	labelled["metadata"].(m)["annotations"].(m)[target.AnnotationNamespacePrefix] = "eu-"
	for name, known := range map[string]bool{"known": true, "asked for": false} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			eventually(t, "the name leads to the agent", s.ready)
			s.api.Remove("", "pods", "front", "caller")
			s.api.Put("v1", "Namespace", "", "eu-front", labelled)
			is := running("Running")
			is["metadata"] = m{"labels": m{"app": "front"}}
			s.forgets(t)
			if !known {
				s.stopWatching()
			}
			s.api.Put("v1", "Pod", "eu-front", "caller", is)
			if known {
				eventually(t, "the caller is known", s.isKnown)
			}
			greeted(t, s.dial(t, "http"))
			got := s.told(t)
			if got.Namespace != "front" || got.Labels["app"] != "front" || got.Address.String() != loopback ||
				got.NamespaceLabels["team"] != "a" || got.NamespaceLabels[target.LabelNamespaceName] != "front" ||
				len(got.NamespaceLabels) != 2 {
				t.Errorf("told of %+v", got)
			}
		})
	}
}

// stopWatching has nobody tell of Pods any more; who asks for one hears of it.
func (s *site) stopWatching() {
	s.api.Handle(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/api/v1/pods" || r.URL.Query().Has("fieldSelector") {
			return false
		}
		w.WriteHeader(http.StatusInternalServerError)
		return true
	})
	s.api.CutWatches()
}

// An address may pass to a new Pod before the old one has gone. Of two that stay nobody can tell which one calls.
func TestWhoHasTheAddressOfALeavingPod(t *testing.T) {
	s := newSite(t)
	going := running("Running")
	going["metadata"] = m{"labels": m{"app": "old"}, "deletionTimestamp": time.Now().UTC().Format(time.RFC3339)}
	s.caller(going)
	staying := running("Running")
	staying["metadata"] = m{"labels": m{"app": "new"}}
	s.api.Put("v1", "Pod", "front", "next", staying)
	s.knowsOf(t, 2)
	eventually(t, "the callers are known", s.isKnown)
	greeted(t, s.dial(t, "http"))
	if got := s.told(t); got.Labels["app"] != "new" {
		t.Errorf("told of %+v", got)
	}
	s.api.Put("v1", "Pod", "front", "third", staying)
	s.knowsOf(t, 3)
	greeted(t, s.dial(t, "http"))
	if got := s.told(t); got.Namespace != "" {
		t.Errorf("told of %+v", got)
	}
}

// knowsOf waits until the site knows of so many Pods at the address of this machine.
func (s *site) knowsOf(t *testing.T, pods int) {
	t.Helper()
	eventually(t, "the Pods are known", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.pods[loopback]) == pods
	})
}

// Whom policies at the other site keep out is reset at once, and counted. It is not kept waiting for what moves, nor
// does it keep others waiting.
func TestWhomPoliciesKeepOut(t *testing.T) {
	s := newSite(t)
	eventually(t, "the caller is known", s.isKnown)
	s.up.refuse(exchange.Denied)
	if conn := s.dial(t, "http"); !isReset(conn) {
		t.Error("it is served")
	}
	eventually(t, "it is counted", func() bool { return s.refusedFor(refusedPolicy) > 0 })
	s.up.refuse(exchange.Moving)
	waits := s.dial(t, "http")
	eventually(t, "it waits", func() bool { return s.waiting() == 1 })
	s.up.refuse(exchange.Denied)
	if !isReset(waits) {
		t.Error("it waits for what keeps it out")
	}
}

// What answers elsewhere and keeps the agent out answers.
func TestCallersAreLedToWhatKeepsTheAgentOut(t *testing.T) {
	s := newSite(t)
	s.up.refuse(exchange.Denied)
	eventually(t, "the name leads to the agent", s.ready)
	s.clusterSlice(true)
	eventually(t, "a Pod is ready here", func() bool { return !s.ready() })
	s.mu.Lock()
	e := s.entries[name{"app", "web"}]
	s.mu.Unlock()
	if !s.answersElsewhere(e, name{"app", "web"}) {
		t.Error("its callers are led nowhere")
	}
}
