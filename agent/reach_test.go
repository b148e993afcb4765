package agent

import (
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/tunnel"
)

func TestTargetThatDoesNotAnswer(t *testing.T) {
	s := newSite(t)
	s.desire(configMap("default", "a", "1"))
	s.settled()
	<-s.observer.Ready()
	s.api.Down(true)
	s.desire(configMap("default", "a", "2"), configMap("default", "b", "1"))
	began := time.Now()
	eventually(t, "it is said", func() bool { c, ok := s.conditions.Get(tunnel.TargetReachable); return ok && c.Status == tunnel.False })
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
