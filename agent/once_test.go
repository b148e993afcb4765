package agent

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/store"
)

func job(name string, spec map[string]any) store.Entry {
	return live("batch", "jobs", "batch/v1", "Job", "default", name, map[string]any{"spec": spec})
}

// anew is the entry of a source that was deleted and made again.
func anew(e store.Entry) store.Entry {
	e.Body = []byte(strings.Replace(string(e.Body), `"source-`, `"second-source-`, 1))
	e.Hash = store.HashBody(e.Generation, e.Body)
	return e
}

func ended(conditions ...string) map[string]any {
	var all []any
	for _, c := range conditions {
		all = append(all, map[string]any{"type": c, "status": "True"})
	}
	return map[string]any{"conditions": all}
}

func TestWhatHasEndedIsNotRunAgain(t *testing.T) { inBubble(t, whatHasEndedIsNotRunAgain) }

func whatHasEndedIsNotRunAgain(t *testing.T) {
	s := newSite(t)
	spec := map[string]any{"parallelism": 1}
	timed := map[string]any{"ttlSecondsAfterFinished": 1}
	complete, failed, running, expiring := job(
		"complete",
		spec,
	), job(
		"failed",
		spec,
	), job(
		"running",
		spec,
	), job(
		"expiring",
		timed,
	)
	pod := func(name string) store.Entry {
		return live(
			"",
			"pods",
			"v1",
			"Pod",
			"default",
			name,
			map[string]any{"spec": map[string]any{"restartPolicy": "Never"}},
		)
	}
	donePod, livePod := pod("done"), pod("live")
	s.desire(complete, failed, running, expiring, donePod, livePod)
	s.settled()
	<-s.observer.Ready()
	s.api.SetStatus("batch", "jobs", "default", "complete", ended("SuccessCriteriaMet", "Complete"))
	s.api.SetStatus("batch", "jobs", "default", "failed", ended("Failed"))
	s.api.SetStatus("", "pods", "default", "done", map[string]any{"phase": "Succeeded"})
	for _, name := range []string{"complete", "failed", "running", "expiring"} {
		s.api.Remove("batch", "jobs", "default", name)
	}
	s.api.Remove("", "pods", "default", "done")
	s.api.Remove("", "pods", "default", "live")
	eventually(
		t,
		"what had not ended runs again",
		func() bool { return s.exists(running) && s.exists(livePod) && s.exists(expiring) },
	)
	for range 3 {
		s.settled()
		for _, e := range []store.Entry{complete, failed, donePod} {
			if s.exists(e) || s.writesTo(e.Key.Name) != 1 {
				t.Errorf("%s was run again", e.Key.Name)
			}
			s.healthy(e)
		}
		s.restart(true)
		<-s.observer.Ready()
	}
	// Another version of the same source is no reason to run it either; a new source is.
	same := complete
	same.Body = []byte(strings.Replace(string(complete.Body), `"shop/"`, `"shop/other-placement"`, 1))
	same.Hash = store.HashBody(1, same.Body)
	s.desire(same, anew(failed))
	s.settled()
	s.healthy(same)
	if s.exists(complete) || !s.exists(failed) {
		t.Errorf("of the same source %v, of a new one %v", s.exists(complete), s.exists(failed))
	}
	s.desire(gone(complete))
	s.settled()
	if r := s.report(complete.Key); r != nil {
		t.Errorf("still reported after its tombstone: %s", dump(r))
	}
}

func TestJobRemovedByItsTimeToLiveWhileNobodyLooked(t *testing.T) {
	inBubble(t, jobRemovedByItsTimeToLiveWhileNobodyLooked)
}

func jobRemovedByItsTimeToLiveWhileNobodyLooked(t *testing.T) {
	s := newSite(t)
	j := job("j", map[string]any{"ttlSecondsAfterFinished": 1})
	s.desire(j)
	s.settled()
	s.api.CutWatches()
	s.stop()
	s.api.SetStatus("batch", "jobs", "default", "j", ended("Complete"))
	s.api.Remove("batch", "jobs", "default", "j")
	s.api.Expire()
	s.start(s.DataDir)
	<-s.observer.Ready()
	s.settled()
	if s.exists(j) {
		t.Error("it was run again")
	}
}

// Deleted and made anew in the space while the tombstone was overtaken: it runs anew, though its
// spec is the same.
func TestJobMadeAnewRunsAnew(t *testing.T) { inBubble(t, jobMadeAnewRunsAnew) }

func jobMadeAnewRunsAnew(t *testing.T) {
	s := newSite(t)
	j, c := job("j", map[string]any{"parallelism": 1}), configMap("default", "c", "1")
	s.desire(j, c)
	s.settled()
	<-s.observer.Ready()
	first, firstMap := s.uid("batch", "jobs", "default", "j"), s.uid("", "configmaps", "default", "c")
	s.api.SetStatus("batch", "jobs", "default", "j", ended("Complete"))
	s.desire(anew(j), anew(c))
	s.settled()
	eventually(t, "the second is reported", func() bool {
		r := s.report(j.Key)
		return r != nil && r.OriginUID == "second-source-jobs-j" && r.Error == nil
	})
	if now := s.uid("batch", "jobs", "default", "j"); now == first {
		t.Error("the Job was not made anew")
	}
	if s.uid("", "configmaps", "default", "c") != firstMap {
		t.Error("a ConfigMap was made anew, though it only had to be changed")
	}
	var status struct{ Conditions []any }
	if r := s.report(j.Key); r.Status != nil && json.Unmarshal(r.Status, &status) == nil && len(status.Conditions) > 0 {
		t.Error("the second has the first one's status")
	}
	deletions := 0
	for _, w := range s.api.Writes() {
		if w.Method == "DELETE" {
			deletions++
		}
	}
	if deletions != 1 {
		t.Errorf("%d deletions", deletions)
	}
}

// Deleted and made anew in the space while the tombstone was overtaken, with a field that only a new
// object may have otherwise: it is made anew here, and takes over the pods that it still selects.
// Other changes that the target refuses remove nothing, and data is left.
func TestWhatCannotBecomeItsSuccessorIsMadeAnew(t *testing.T) {
	inBubble(t, whatCannotBecomeItsSuccessorIsMadeAnew)
}

func whatCannotBecomeItsSuccessorIsMadeAnew(t *testing.T) {
	s := newSite(t)
	set := func(name, selects, claims string) store.Entry {
		labels := map[string]any{"app": selects}
		spec := map[string]any{"selector": map[string]any{"matchLabels": labels}, "claims": claims}
		of := map[string]any{"spec": spec}
		return live("apps", "statefulsets", "apps/v1", "StatefulSet", "default", name, of)
	}
	claim := func(size string) store.Entry {
		return live("", "persistentvolumeclaims", "v1", "PersistentVolumeClaim", "default", "data",
			map[string]any{"spec": map[string]any{"size": size}})
	}
	other, same, changed := set("other", "a", "1"), set("same", "a", "1"), set("changed", "a", "1")
	s.desire(other, same, changed, claim("2"))
	s.settled()
	<-s.observer.Ready()
	uids := map[string]string{}
	for _, name := range []string{"other", "same", "changed"} {
		uids[name] = s.uid("apps", "statefulsets", "default", name)
		s.api.Put("v1", "Pod", "default", name+"-0", owned(uids[name]))
	}
	dataUID := s.uid("", "persistentvolumeclaims", "default", "data")
	var gone sync.Map
	s.api.Refuse(func(method, plural, name string) *targettest.Refusal {
		if method == http.MethodDelete {
			gone.Store(name, true)
		}
		if _, free := gone.Load(name); free || plural != "statefulsets" && plural != "persistentvolumeclaims" {
			return nil
		}
		return &targettest.Refusal{Code: 422, Reason: "Invalid", Message: "updates are forbidden"}
	})
	changed.Body = []byte(strings.Replace(string(changed.Body), `"claims":"1"`, `"claims":"2"`, 1))
	changed.Hash = store.HashBody(changed.Generation, changed.Body)
	other, same = anew(set("other", "b", "1")), anew(set("same", "a", "2"))
	s.desire(other, same, changed, anew(claim("1")))
	s.healthy(other)
	s.healthy(same)
	s.reported(changed, "Invalid")
	s.reported(claim("1"), "Invalid")
	for _, name := range []string{"other", "same"} {
		if s.uid("apps", "statefulsets", "default", name) == uids[name] {
			t.Errorf("%s was not made anew", name)
		}
	}
	if s.uid("apps", "statefulsets", "default", "changed") != uids["changed"] ||
		s.uid("", "persistentvolumeclaims", "default", "data") != dataUID {
		t.Error("what was only changed, or holds data, was made anew")
	}
	if s.api.Object("", "pods", "default", "same-0") == nil {
		t.Error("the successor has not got the pod that it selects")
	}
	if s.api.Object("", "pods", "default", "other-0") != nil {
		t.Error("a pod that nobody selects has stayed")
	}
}

// withMark is the entry of a Job that has run to its end, as the parent sends it.
func withMark(e store.Entry) store.Entry {
	e.Body = []byte(strings.Replace(string(e.Body), `"annotations":{`, `"annotations":{"skerry.dev/ended":"true",`, 1))
	e.Hash = store.HashBody(e.Generation, e.Body)
	return e
}

// A site that has lost its file gets its Jobs from the parent, which knows which of them have
// ended.
func TestAJobThatEndedBeforeTheFileWasLost(t *testing.T) {
	inBubble(t, aJobThatEndedBeforeTheFileWasLost)
}

func aJobThatEndedBeforeTheFileWasLost(t *testing.T) {
	s := newSite(t)
	spec := map[string]any{"parallelism": 1}
	done, there, running := withMark(job("done", spec)), withMark(job("there", spec)), job("running", spec)
	uid := s.api.Put(
		"batch/v1",
		"Job",
		"default",
		"there",
		map[string]any{"metadata": map[string]any{"annotations": map[string]any{
			"skerry.dev/origin": "shop/", "skerry.dev/origin-uid": "source-jobs-there"}}},
	)
	s.desire(done, there, running)
	s.settled()
	<-s.observer.Ready()
	for range 2 {
		if s.exists(done) || s.writesTo("done") != 0 {
			t.Error("it was run again")
		}
		s.healthy(done)
		if s.report(done.Key).Applied != done.Hash.String() {
			t.Errorf("reported as %s", dump(s.report(done.Key)))
		}
		if s.uid("batch", "jobs", "default", "there") != uid || !s.exists(running) {
			t.Error("one that is there was replaced, or one that has not ended was not made")
		}
		s.restart(true)
		<-s.observer.Ready()
		s.settled()
	}
	s.desire(anew(job("done", spec)))
	s.settled()
	if !s.exists(done) {
		t.Error("made anew in the space it does not run anew")
	}
}
