package placement

import (
	"slices"
	"testing"

	"skerry.dev/skerry/store"
)

func TestBound(t *testing.T) {
	subject := func(kind, namespace, name string) any {
		return map[string]any{"kind": kind, "namespace": namespace, "name": name}
	}
	for _, c := range []struct {
		subject any
		want    []string
	}{
		{subject("ServiceAccount", "app", "op"), []string{"app/op"}},
		{subject("ServiceAccount", "", "op"), []string{"here/op"}},
		{subject("User", "", "system:serviceaccount:app:op"), nil},
		{subject("Group", "", "system:serviceaccounts:app"), []string{"app/*"}},
		{subject("Group", "", "system:serviceaccounts:"), nil},
		{subject("Group", "", "system:serviceaccounts"), nil},
		{subject("Group", "", "system:authenticated"), nil},
		{"nonsense", nil},
	} {
		got := Bound("here", map[string]any{"subjects": []any{c.subject}})
		if !slices.Equal(got, c.want) {
			t.Errorf("%v binds %v, want %v", c.subject, got, c.want)
		}
	}
	if got := Bound("here", nil); got != nil {
		t.Errorf("what is gone binds %v", got)
	}
	if got := Bound("", map[string]any{"subjects": []any{subject("ServiceAccount", "", "op")}}); got != nil {
		t.Errorf("a ClusterRoleBinding without a namespace binds %v", got)
	}
}

func TestPodAccountOf(t *testing.T) {
	pod := map[string]any{"serviceAccountName": "op", "automountServiceAccountToken": false}
	template := map[string]any{"spec": pod,
		"metadata": map[string]any{"annotations": map[string]any{"skerry.dev/pod-api": "Space"}}}
	off, on := false, true
	token := func(audience string) map[string]any {
		t := map[string]any{"path": "token", "audience": audience}
		projected := map[string]any{"sources": []any{map[string]any{"serviceAccountToken": t}}}
		return map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"automountServiceAccountToken": false,
			"volumes":                      []any{map[string]any{"name": "v", "projected": projected}}}}}}
	}
	for _, c := range []struct {
		key    store.Key
		object map[string]any
		want   PodAccount
	}{
		{store.Key{Resource: "configmaps"}, nil, PodAccount{}},
		{store.Key{Resource: "pods"}, map[string]any{"spec": map[string]any{"nodeName": "n"}},
			PodAccount{Name: "default", Fixed: true}},
		{store.Key{Group: "apps", Resource: "deployments"}, map[string]any{"spec": map[string]any{"template": template}},
			PodAccount{Name: "op", Wish: SpaceAPI, Mounts: &off}},
		{store.Key{Group: "apps", Resource: "deployments"}, token(""), PodAccount{Name: "default", Mounts: &on}},
		{store.Key{Group: "apps", Resource: "deployments"}, token("vault"), PodAccount{Name: "default", Mounts: &off}},
		{store.Key{Group: "batch", Resource: "cronjobs"},
			map[string]any{"spec": map[string]any{"jobTemplate": map[string]any{"spec": map[string]any{"template": template}}}},
			PodAccount{Name: "op", Wish: SpaceAPI, Mounts: &off}},
		{store.Key{Group: "batch", Resource: "jobs"}, map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{"skerry.dev/space-api": "op"}},
			"spec":     map[string]any{"template": template}},
			PodAccount{Name: "op", Wish: SpaceAPI, Mounts: &off, Fixed: true, Decided: true}},
		{store.Key{Group: "batch", Resource: "jobs"}, map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{"skerry.dev/space-api": "op",
				"skerry.dev/origin": "shop/"}},
			"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"serviceAccount": "old"}}}},
			PodAccount{Name: "old", Fixed: true, Given: true}},
	} {
		got := PodAccountOf(c.key, c.object)
		if (got.Mounts == nil) != (c.want.Mounts == nil) || got.Mounts != nil && *got.Mounts != *c.want.Mounts {
			t.Errorf("%s mounts %v", c.key, got.Mounts)
		}
		if got.Mounts, c.want.Mounts = nil, nil; got != c.want {
			t.Errorf("%s: %+v, want %+v", c.key, got, c.want)
		}
	}
}
