package agent

import (
	"encoding/json"
	"maps"
	"net/http"
	"path"
	"sync/atomic"
	"testing"

	"skerry.dev/skerry/store"
)

// setWithClaims is a StatefulSet db with a template data.
func setWithClaims() store.Entry {
	return live("apps", "statefulsets", "apps/v1", "StatefulSet", "default", "db", map[string]any{"spec": map[string]any{
		"selector":             map[string]any{"matchLabels": map[string]any{"app": "db"}},
		"volumeClaimTemplates": []any{map[string]any{"metadata": map[string]any{"name": "data"}}},
	}})
}

func labelled(labels map[string]any) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"storageClassName": "fast"},
		"status": map[string]any{"phase": "Bound"},
	}
}

func claimKey(name string) store.Key {
	return store.Key{Space: space, Resource: "persistentvolumeclaims", Namespace: "default", Name: name}
}

// ownersOf are the kinds and names of the owners that a report names.
func ownersOf(t *testing.T, r *store.Report) (out []string) {
	t.Helper()
	var object struct {
		Metadata struct {
			UID             string
			OwnerReferences []struct{ Kind, Name string }
		}
	}
	if err := json.Unmarshal(r.Object, &object); err != nil || object.Metadata.UID == "" {
		t.Errorf("%v: %s", err, r.Object)
	}
	for _, o := range object.Metadata.OwnerReferences {
		out = append(out, o.Kind+"/"+o.Name)
	}
	return out
}

// TestClaimsOfTemplatesAreReported: those that a StatefulSet's template names, whether they were
// there before it or not, and those of a Pod's ephemeral volumes; nobody else's.
func TestClaimsOfTemplatesAreReported(t *testing.T) { inBubble(t, claimsOfTemplatesAreReported) }

func claimsOfTemplatesAreReported(t *testing.T) {
	s := newSite(t)
	app := map[string]any{"app": "db"}
	other := live("apps", "statefulsets", "apps/v1", "StatefulSet", "default", "first", map[string]any{
		"spec": map[string]any{"volumeClaimTemplates": []any{}}})
	s.desire(other)
	s.settled()
	<-s.observer.Ready()
	s.api.Put("v1", "PersistentVolumeClaim", "default", "data-db-0", labelled(app))
	s.desire(setWithClaims())
	s.settled()
	eventually(t, "a claim of before is reported", func() bool { return s.report(claimKey("data-db-0")) != nil })
	foreign := map[string]map[string]any{
		"data-db-x": app, "data-db": app, "logs-db-0": app, "data-other-0": app, "data-db-2": {"app": "other"},
	}
	for name, labels := range foreign {
		s.api.Put("v1", "PersistentVolumeClaim", "default", name, labelled(labels))
	}
	s.api.Put("v1", "PersistentVolumeClaim", "kube-system", "data-db-0", labelled(app))
	s.api.Put("v1", "PersistentVolumeClaim", "default", "data-db-1", labelled(app))
	eventually(t, "a new one is reported", func() bool { return s.report(claimKey("data-db-1")) != nil })
	r := s.report(claimKey("data-db-1"))
	if got := ownersOf(t, r); len(got) != 1 || got[0] != "StatefulSet/db" || string(r.Status) != `{"phase":"Bound"}` ||
		r.OriginUID != "source-statefulsets-db" {
		t.Errorf("%v: %s", got, dump(r))
	}
	if !s.observer.Placed(claimKey("data-db-1"), s.uid("", "persistentvolumeclaims", "default", "data-db-1")) {
		t.Error("the parent may not delete it")
	}
	for name := range maps.Keys(foreign) {
		uid := s.uid("", "persistentvolumeclaims", "default", name)
		if s.report(claimKey(name)) != nil || s.observer.Placed(claimKey(name), uid) {
			t.Errorf("claim %s of somebody else is reported", name)
		}
	}

	// A Pod's ephemeral volume: the claim is seen before its Pod.
	set := s.uid("apps", "statefulsets", "default", "db")
	pod := owned(set)
	pod["metadata"].(map[string]any)["uid"] = "pod-1"
	s.api.Put("v1", "Pod", "default", "db-0", pod)
	uid := s.uid("", "pods", "default", "db-0")
	s.api.Put("v1", "PersistentVolumeClaim", "default", "db-0-scratch", owned(uid))
	eventually(t, "it is reported", func() bool { return s.report(claimKey("db-0-scratch")) != nil })
	if got := ownersOf(t, s.report(claimKey("db-0-scratch"))); len(got) != 2 || got[0] != "StatefulSet/db" {
		t.Errorf("it belongs to %v", got)
	}
	s.api.Remove("", "persistentvolumeclaims", "default", "data-db-1")
	eventually(t, "it goes", func() bool { return s.report(claimKey("data-db-1")) == nil })

	// Its StatefulSet goes and comes back, while another one keeps the watch: the claim was there.
	more := live("apps", "statefulsets", "apps/v1", "StatefulSet", "default", "more",
		map[string]any{"spec": map[string]any{
			"selector":             map[string]any{"matchLabels": map[string]any{"app": "more"}},
			"volumeClaimTemplates": []any{map[string]any{"metadata": map[string]any{"name": "data"}}},
		}})
	s.desire(more)
	s.settled()
	s.desire(gone(setWithClaims()))
	eventually(t, "it is not shown without its StatefulSet", func() bool { return s.report(claimKey("data-db-0")) == nil })
	s.desire(setWithClaims())
	eventually(t, "it is shown again", func() bool { return s.report(claimKey("data-db-0")) != nil })
}

// TestClaimsOfAPlacedPodAreReported: a Pod that was placed itself has its ephemeral volumes' claims
// shown where nothing else makes claims, also when the read of one fails at first. A bound claim
// has no further event that would tell of it.
func TestClaimsOfAPlacedPodAreReported(t *testing.T) { inBubble(t, claimsOfAPlacedPodAreReported) }

func claimsOfAPlacedPodAreReported(t *testing.T) {
	s := newSite(t)
	pod := live("", "pods", "v1", "Pod", "default", "scratch", map[string]any{"spec": map[string]any{
		"volumes": []any{map[string]any{"name": "disk", "ephemeral": map[string]any{}}}}})
	s.desire(pod)
	s.settled()
	<-s.observer.Ready()
	uid := s.uid("", "pods", "default", "scratch")
	s.api.Put("v1", "PersistentVolumeClaim", "default", "scratch-disk", owned(uid))
	eventually(t, "its claim is reported", func() bool { return s.report(claimKey("scratch-disk")) != nil })
	if got := ownersOf(t, s.report(claimKey("scratch-disk"))); len(got) != 1 || got[0] != "Pod/scratch" {
		t.Errorf("it belongs to %v", got)
	}

	// The claim is seen before its Pod, and the target is too busy when it is read again.
	set := deployment(1, "default", "web", 1)
	s.desire(set)
	s.settled()
	var refused atomic.Int32
	s.api.Handle(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || path.Base(r.URL.Path) != "web-1-disk" || refused.Add(1) > 2 {
			return false
		}
		http.Error(w, "too busy", http.StatusServiceUnavailable)
		return true
	})
	s.api.Put("v1", "PersistentVolumeClaim", "default", "web-1-disk", owned("pod-of-web"))
	s.api.Put("v1", "PersistentVolumeClaim", "default", "scratch-last", owned(uid))
	eventually(t, "the watch has seen both", func() bool { return s.report(claimKey("scratch-last")) != nil })
	late := owned(s.uid("apps", "deployments", "default", "web"))
	late["metadata"].(map[string]any)["uid"] = "pod-of-web"
	s.api.Put("v1", "Pod", "default", "web-1", late)
	eventually(t, "it is reported", func() bool { return s.report(claimKey("web-1-disk")) != nil })
	if refused.Load() < 3 {
		t.Errorf("it was read %d times", refused.Load())
	}
}
