package admin

import (
	"encoding/json"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/rollout"
	"skerry.dev/skerry/server/scheduler"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/variant"
)

func TestARenderingHasWhatTheReleaseOfTheTargetHas(t *testing.T) {
	web := store.Key{Space: "shop", Group: "apps", Resource: "deployments", Namespace: "app", Name: "web"}
	packed, err := rollout.Content{Objects: []rollout.Object{{Key: web, UID: "u", Body: []byte(`{"is":"old"}`)}}}.Pack()
	if err != nil {
		t.Fatal(err)
	}
	record, err := scheduler.EncodeRelease("p1", v1alpha1.BindingUnit{Name: "all"}, 3, packed, 1)
	if err != nil {
		t.Fatal(err)
	}
	binding := &unstructured.Unstructured{}
	if err := json.Unmarshal(record, &binding.Object); err != nil {
		t.Fatal(err)
	}
	p := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "skerry.dev/v1alpha1", "kind": "Placement",
		"metadata": map[string]any{"name": "all", "uid": "p1"}}}
	client := fake.NewSimpleDynamicClient(runtime.NewScheme(), p, binding)
	r := &rendering{object: variant.Object{Key: web}, client: client,
		asked: asked{placement: "all", releases: map[string]int64{"a": 3, "gone": 2}}}
	for target, want := range map[string]string{"a": `{"is":"old"}`, "newest": "", "gone": ""} {
		if body, err := r.released(t.Context(), target); string(body) != want || err != nil {
			t.Errorf("%s: %s, %v", target, body, err)
		}
	}
	r.object.Key.Name = "other"
	if _, err := r.released(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "does not have") {
		t.Errorf("an object that the release lacks: %v", err)
	}
	client.PrependReactor("get", "bindings", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("bindings").GroupResource(), "x", nil)
	})
	if body, err := r.released(t.Context(), "a"); body != nil || err != nil {
		t.Errorf("who may not read releases: %s, %v", body, err)
	}
}
