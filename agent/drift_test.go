package agent

import (
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/store"
)

// reported waits until a key is reported with a reason, and returns the message.
func (s *site) reported(e store.Entry, reason string) string {
	s.t.Helper()
	message := ""
	eventually(s.t, e.Key.Name+" is reported as "+reason, func() bool {
		r := s.report(e.Key)
		if r == nil || r.Error == nil || r.Error.Reason != reason {
			return false
		}
		message = r.Error.Message
		return true
	})
	return message
}

func (s *site) healthy(e store.Entry) {
	s.t.Helper()
	eventually(s.t, e.Key.Name+" is as desired", func() bool {
		r := s.report(e.Key)
		return r != nil && r.Error == nil && r.Applied == e.Hash.String()
	})
}

func (s *site) data(name string) map[string]any {
	o := s.api.Object("", "configmaps", "default", name)
	if o == nil {
		return nil
	}
	data, _ := o["data"].(map[string]any)
	return data
}

func (s *site) spec(name string) map[string]any {
	return s.api.Object("apps", "deployments", "default", name)["spec"].(map[string]any)
}

func data(values map[string]any) map[string]any { return map[string]any{"data": values} }

func TestDriftIsSetBack(t *testing.T) { inBubble(t, driftIsSetBack) }

func driftIsSetBack(t *testing.T) {
	s := newSite(t)
	c, d := configMap("default", "c", "ours"), deployment(1, "default", "web", 3)
	s.desire(c, d)
	s.settled()
	<-s.observer.Ready()
	s.api.PutAs("kubectl-edit", "", "v1", "ConfigMap", "default", "c",
		data(map[string]any{"value": "theirs", "more": "x"}))
	eventually(t, "the value is set back", func() bool { return s.data("c")["value"] == "ours" })
	s.settled()
	if s.data("c")["more"] != "x" || s.writesTo("c") != 2 {
		t.Errorf("data %v after %d writes", s.data("c"), s.writesTo("c"))
	}
	s.api.PutAs("kubectl", "scale", "apps/v1", "Deployment", "default", "web",
		map[string]any{"spec": map[string]any{"replicas": 0}})
	eventually(t, "replicas are set back", func() bool { return s.spec("web")["replicas"] == float64(3) })
	s.settled()
	s.healthy(c)
	s.healthy(d)
	before := len(s.api.Writes())
	s.api.PutAs("somebody", "", "v1", "ConfigMap", "default", "c", data(map[string]any{"theirs": "y"}))
	s.api.PutAs("controller", "", "apps/v1", "Deployment", "default", "web",
		map[string]any{"metadata": map[string]any{"annotations": map[string]any{"x": "y"}}})
	s.api.SetStatus("apps", "deployments", "default", "web", map[string]any{"replicas": 3})
	eventually(t, "the status is reported", func() bool { return replicas(s.report(d.Key)).Replicas == 3 })
	s.settled()
	if n := len(s.api.Writes()); n != before {
		t.Errorf("%d writes because of what is not ours", n-before)
	}
}

func TestRemovedFieldsComeBack(t *testing.T) { inBubble(t, removedFieldsComeBack) }

func removedFieldsComeBack(t *testing.T) {
	s := newSite(t)
	c := configMap("default", "c", "ours")
	s.desire(c)
	s.settled()
	<-s.observer.Ready()
	eventually(t, "it is watched", func() bool {
		s.api.Replace("v1", "ConfigMap", "default", "c", data(nil))
		return s.writesTo("c") == 2
	})
	eventually(t, "the field is back", func() bool { return s.data("c")["value"] == "ours" })
}

func TestDriftWhileDownIsSetBackAtTheStart(t *testing.T) {
	inBubble(t, driftWhileDownIsSetBackAtTheStart)
}

func driftWhileDownIsSetBackAtTheStart(t *testing.T) {
	s := newSite(t)
	c, same := configMap("default", "c", "ours"), configMap("default", "same", "ours")
	s.desire(c, same)
	s.settled()
	s.api.CutWatches()
	s.stop()
	s.api.Put("v1", "ConfigMap", "default", "c", data(map[string]any{"value": "theirs"}))
	s.start(s.DataDir)
	eventually(t, "it is set back", func() bool { return s.data("c")["value"] == "ours" })
	s.settled()
	if n := s.writesTo("same"); n != 1 {
		t.Errorf("%d writes to what nobody changed", n)
	}
}

func TestDriftIsOnlyReported(t *testing.T) { inBubble(t, driftIsOnlyReported) }

func driftIsOnlyReported(t *testing.T) {
	s := newSite(t)
	sync := `{"whenDrifted":"Report"}`
	c, gone := with(configMap("default", "c", "ours"), sync), with(configMap("default", "deleted", "ours"), sync)
	s.desire(c, gone)
	s.settled()
	<-s.observer.Ready()
	s.api.PutAs("kubectl-edit", "", "v1", "ConfigMap", "default", "c", data(map[string]any{"value": "theirs"}))
	if m := s.reported(c, "Drifted"); !strings.Contains(m, `"kubectl-edit" has changed .data.value`) {
		t.Errorf("message %q", m)
	}
	s.api.Remove("", "configmaps", "default", "deleted")
	s.reported(gone, "Drifted")
	s.settled()
	s.restart(true)
	<-s.observer.Ready()
	s.reported(c, "Drifted")
	s.reported(gone, "Drifted")
	s.settled()
	if s.data("c")["value"] != "theirs" || s.exists(gone) || s.writesTo("c") != 1 || s.writesTo("deleted") != 1 {
		t.Errorf("what should only be reported was written: %v", s.api.Writes())
	}
	// A new version does not take the field either: it is the target's until somebody decides.
	s.desire(with(configMap("default", "c", "newer"), sync))
	if m := s.reported(c, "Conflict"); !strings.Contains(m, "kubectl-edit") ||
		!strings.Contains(m, ".data.value") || s.data("c")["value"] != "theirs" {
		t.Errorf("message %q, value %v", m, s.data("c")["value"])
	}
	restored := configMap("default", "c", "newer")
	s.desire(restored, with(configMap("default", "deleted", "newer"), sync))
	s.settled()
	if s.data("c")["value"] != "newer" || s.data("deleted")["value"] != "newer" {
		t.Errorf("after Restore: %v and %v", s.data("c"), s.data("deleted"))
	}
	s.healthy(restored)
}

func TestWhatIsReportedBeforeTheTargetIsObservedStays(t *testing.T) {
	inBubble(t, whatIsReportedBeforeTheTargetIsObservedStays)
}

func whatIsReportedBeforeTheTargetIsObservedStays(t *testing.T) {
	s := newSite(t)
	gone := with(configMap("default", "deleted", "ours"), `{"whenDrifted":"Report"}`)
	s.desire(gone)
	s.settled()
	<-s.observer.Ready()
	s.api.Remove("", "configmaps", "default", "deleted")
	s.reported(gone, "Drifted")
	s.settled()
	s.late = true
	s.restart(true)
	<-s.observer.Ready()
	s.reported(gone, "Drifted")
}

func TestReportedDriftStaysReported(t *testing.T) { inBubble(t, reportedDriftStaysReported) }

func reportedDriftStaysReported(t *testing.T) {
	s := newSite(t)
	c := with(configMap("default", "c", "ours"), `{"whenDrifted":"Report"}`)
	s.desire(c)
	s.settled()
	<-s.observer.Ready()
	s.api.Put("v1", "ConfigMap", "default", "c", data(map[string]any{"value": "theirs"}))
	s.reported(c, "Drifted")
	s.applier.Changed([]store.Key{c.Key}) // looked at again, though nothing differs
	s.settled()
	if r := s.report(c.Key); r == nil || r.Error == nil || r.Error.Reason != "Drifted" {
		t.Errorf("report %+v", r)
	}
}

func TestDriftThatIsTakenBackIsNoDrift(t *testing.T) { inBubble(t, driftThatIsTakenBackIsNoDrift) }

func driftThatIsTakenBackIsNoDrift(t *testing.T) {
	s := newSite(t)
	c := with(configMap("default", "c", "ours"), `{"whenDrifted":"Report"}`)
	s.desire(c)
	s.settled()
	<-s.observer.Ready()
	s.api.Put("v1", "ConfigMap", "default", "c", data(map[string]any{"value": "theirs"}))
	s.reported(c, "Drifted")
	s.api.Put("v1", "ConfigMap", "default", "c", data(map[string]any{"value": "ours"}))
	s.healthy(c)
	s.api.Put("v1", "ConfigMap", "default", "c", data(map[string]any{"value": "again"})) // it is still watched
	s.reported(c, "Drifted")
}

func TestContestIsSlowAndNamed(t *testing.T) { inBubble(t, contestIsSlowAndNamed) }

func contestIsSlowAndNamed(t *testing.T) {
	s := newSite(t)
	c := configMap("default", "c", "ours")
	s.desire(c)
	s.settled()
	<-s.observer.Ready()
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if s.data("c")["value"] == "ours" {
			s.api.PutAs("stubborn-operator", "", "v1", "ConfigMap", "default", "c", data(map[string]any{"value": "theirs"}))
		}
	}
	if n := s.writesTo("c"); n < 2 || n > 5 {
		t.Errorf("%d writes in a second against somebody who keeps changing it", n)
	}
	fight := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-fight:
				return
			case <-time.After(time.Millisecond):
				if s.data("c")["value"] == "ours" {
					s.api.PutAs("stubborn-operator", "", "v1", "ConfigMap", "default", "c", data(map[string]any{"value": "theirs"}))
				}
			}
		}
	}()
	m := s.reported(c, "Contested")
	close(fight)
	<-ended
	if !strings.Contains(m, "stubborn-operator") || !strings.Contains(m, ".data.value") {
		t.Errorf("message %q", m)
	}
	eventually(t, "it is set back in the end", func() bool {
		return s.data("c")["value"] == "ours" && s.report(c.Key).Error == nil
	})
}

func TestRetainedFieldsAreWrittenOnce(t *testing.T) { inBubble(t, retainedFieldsAreWrittenOnce) }

func retainedFieldsAreWrittenOnce(t *testing.T) {
	s := newSite(t)
	sync := `{"retainFields":["/data/value"]}`
	values := func(ours, other string) store.Entry {
		return with(live("", "configmaps", "v1", "ConfigMap", "default", "c",
			data(map[string]any{"value": ours, "other": other})), sync)
	}
	s.desire(values("first", "1"))
	s.settled()
	<-s.observer.Ready()
	if s.data("c")["value"] != "first" {
		t.Errorf("made with %v", s.data("c"))
	}
	s.desire(values("second", "2"))
	s.settled()
	if d := s.data("c"); d["value"] != "first" || d["other"] != "2" {
		t.Errorf("a retained field was written: %v", d)
	}
	writes := s.writesTo("c")
	s.api.Put("v1", "ConfigMap", "default", "c", data(map[string]any{"value": "theirs"}))
	eventually(t, "it is known that the field is theirs", func() bool {
		r, _ := s.inventory.Get(values("", "").Key)
		return r.ResourceVersion == metadata(s.api.Object("", "configmaps", "default", "c"))["resourceVersion"]
	})
	s.settled()
	if s.writesTo("c") != writes || s.data("c")["value"] != "theirs" {
		t.Errorf("a retained field is drift: %v", s.data("c"))
	}
	s.desire(values("third", "3"))
	s.settled()
	if d := s.data("c"); d["value"] != "theirs" || d["other"] != "3" {
		t.Errorf("after an update: %v", d)
	}
	s.api.Put("v1", "ConfigMap", "default", "c", data(map[string]any{"value": "theirs2", "other": "theirs"}))
	eventually(t, "the other field is set back", func() bool { return s.data("c")["other"] == "3" })
	if s.data("c")["value"] != "theirs2" {
		t.Errorf("setting back wrote a retained field: %v", s.data("c"))
	}
	s.desire(with(values("", ""), `{"retainFields":["/metadata/name"]}`))
	s.reported(values("", ""), "Invalid")
}
