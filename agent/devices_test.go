package agent

import (
	"testing"

	"skerry.dev/skerry/store"
)

// TestClaimsOfDevicesAreReported: those that a site makes of the templates that Pods of a placed
// workload name; nobody else's.
func TestClaimsOfDevicesAreReported(t *testing.T) { inBubble(t, claimsOfDevicesAreReported) }

func claimsOfDevicesAreReported(t *testing.T) {
	s := newSite(t)
	key := func(name string) store.Key {
		return store.Key{Space: space, Group: "resource.k8s.io", Resource: "resourceclaims", Namespace: "default", Name: name}
	}
	const api = "resource.k8s.io/v1"
	s.desire(live("apps", "deployments", "apps/v1", "Deployment", "default", "train", map[string]any{
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"resourceClaims": []any{
			map[string]any{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}}}}}}))
	s.settled()
	<-s.observer.Ready()

	// The claim is seen before its Pod.
	s.api.Put(api, "ResourceClaim", "default", "of-nobody", nil)
	s.api.Put(api, "ResourceClaim", "default", "of-others", owned("pod-of-others"))
	claim := owned("pod-1")
	claim["status"] = map[string]any{"allocation": map[string]any{"devices": map[string]any{}}}
	s.api.Put(api, "ResourceClaim", "default", "train-1-gpu-x7", claim)
	pod := owned(s.uid("apps", "deployments", "default", "train"))
	pod["metadata"].(map[string]any)["uid"] = "pod-1"
	s.api.Put("v1", "Pod", "default", "train-1", pod)
	eventually(t, "it is reported", func() bool { return s.report(key("train-1-gpu-x7")) != nil })
	r := s.report(key("train-1-gpu-x7"))
	if got := ownersOf(t, r); len(got) != 2 || got[0] != "Deployment/train" || len(r.Status) == 0 {
		t.Errorf("it belongs to %v: %s", got, dump(r))
	}
	if !s.observer.Placed(key("train-1-gpu-x7"), s.uid("resource.k8s.io", "resourceclaims", "default", "train-1-gpu-x7")) {
		t.Error("the parent may not delete it")
	}
	for _, name := range []string{"of-nobody", "of-others"} {
		if s.report(key(name)) != nil {
			t.Errorf("claim %s of somebody else is reported", name)
		}
	}
	s.api.Remove("resource.k8s.io", "resourceclaims", "default", "train-1-gpu-x7")
	eventually(t, "it goes", func() bool { return s.report(key("train-1-gpu-x7")) == nil })
}
