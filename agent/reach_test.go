package agent

import (
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/tunnel"
)

func TestTargetThatDoesNotAnswer(t *testing.T) { inBubble(t, targetThatDoesNotAnswer) }

func targetThatDoesNotAnswer(t *testing.T) {
	s := newSite(t)
	s.desire(configMap("default", "a", "1"))
	s.settled()
	<-s.observer.Ready()
	s.api.Down(true)
	s.desire(configMap("default", "a", "2"), configMap("default", "b", "1"))
	began := time.Now()
	eventually(
		t,
		"it is said",
		func() bool { c, ok := s.conditions.Get(tunnel.TargetReachable); return ok && c.Status == tunnel.False },
	)
	if took := time.Since(began); took < unreachableAfter-time.Second {
		t.Errorf("a target is called unreachable after %v", took)
	}
	c, _ := s.conditions.Get(tunnel.TargetReachable)
	if c.Reason != "Unreachable" || !strings.Contains(c.Message, "cannot reach its cluster since 20") {
		t.Errorf("%+v", c)
	}
	s.api.Down(false)
	eventually(t, "it is taken back", func() bool { _, ok := s.conditions.Get(tunnel.TargetReachable); return !ok })
	back := time.Now()
	s.settled()
	if took := time.Since(back); took > 10*time.Second {
		t.Errorf("what waited was done %v after the target answered", took)
	}
	if s.data("a")["value"] != "2" || s.data("b")["value"] != "1" || s.writesTo("a") != 2 || s.writesTo("b") != 1 {
		t.Errorf("a %v, b %v, writes %v", s.data("a"), s.data("b"), s.api.Writes())
	}
	before := len(s.api.Writes())
	s.api.Down(true)
	time.Sleep(200 * time.Millisecond)
	s.api.Down(false)
	s.api.Put("v1", "ConfigMap", "default", "a", data(map[string]any{"value": "theirs"}))
	eventually(t, "watches go on", func() bool { return s.data("a")["value"] == "2" })
	s.settled()
	if n := len(s.api.Writes()); n != before+1 {
		t.Errorf("recovering wrote %d times", n-before-1)
	}
	if _, ok := s.conditions.Get(tunnel.TargetReachable); ok {
		t.Error("a short silence is told")
	}
}

// What answers and does not serve the agent is not reachable, and the words say what is wrong with
// it.
func TestTargetThatAnswersAndDoesNotServe(t *testing.T) {
	for want, answer := range map[string]targettest.Refusal{
		"Unauthorized":  {Code: 401, Reason: "Unauthorized", Message: "who are you?"},
		"Forbidden":     {Code: 403, Reason: "Forbidden", Message: "namespaces is forbidden"},
		"Overloaded":    {Code: 429, Reason: "TooManyRequests", Message: "too many requests"},
		"InternalError": {Code: 500, Reason: "InternalError", Message: "etcdserver: no leader"},
		"NotKubernetes": {Code: 200, Message: "<html>Welcome to the hotel</html>"},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) {
				s := newSite(t)
				s.desire(configMap("default", "a", "1"))
				s.settled()
				<-s.observer.Ready()
				s.api.Instead(&answer)
				began := time.Now()
				said := func() bool { c, ok := s.conditions.Get(tunnel.TargetReachable); return ok && c.Reason == want }
				eventually(t, "it is said", said)
				if took := time.Since(began); took > identifyEvery+unreachableAfter+5*time.Second {
					t.Errorf("it is said after %v", took)
				}
				for range 3 { // an answer to something else does not take it back
					s.desire(configMap("default", "b", time.Now().String()))
					time.Sleep(100 * time.Millisecond)
					if !said() {
						t.Fatal("it is taken back while nothing is served")
					}
				}
				s.api.Instead(nil)
				eventually(
					t,
					"it is taken back",
					func() bool { _, ok := s.conditions.Get(tunnel.TargetReachable); return !ok },
				)
				s.settled()
			})
		})
	}
}

// A target that refuses one object, because a quota or a webhook there does, answers.
func TestTargetThatRefusesAnObjectAnswers(t *testing.T) {
	inBubble(t, targetThatRefusesAnObjectAnswers)
}

func targetThatRefusesAnObjectAnswers(t *testing.T) {
	s := newSite(t)
	s.api.Refuse(func(_, _, name string) *targettest.Refusal {
		if name != "a" {
			return nil
		}
		return &targettest.Refusal{Code: 403, Reason: "Forbidden", Message: "exceeded quota"}
	})
	s.desire(configMap("default", "a", "1"), configMap("default", "b", "1"))
	eventually(t, "the other is there", func() bool { return s.exists(configMap("default", "b", "1")) })
	time.Sleep(unreachableAfter + time.Second)
	if c, ok := s.conditions.Get(tunnel.TargetReachable); ok {
		t.Errorf("%+v", c)
	}
}
