package server_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// TestADefinitionKeepsAConditionOfTheCenter: what the center puts beside the conditions of a definition
// stays when the definition changes, and its own conditions stay, too.
func TestADefinitionKeepsAConditionOfTheCenter(t *testing.T) {
	c := start(t, t.TempDir(), newAuthority(t), nil)
	c.createSpace("one", "Retain")
	d, own := dyn(t, c.admin("one")), dyn(t, c.api.Loopback("one"))
	def, _ := gadgets("example.com")
	_, err := d.Resource(crdsGVR).Create(t.Context(), def, metav1.CreateOptions{})
	must(t, err)
	within(t, time.Minute, "Established", func() bool { return established(t, d, def.GetName()) })
	now, err := own.Resource(crdsGVR).Get(t.Context(), def.GetName(), metav1.GetOptions{})
	must(t, err)
	conditions, _, _ := unstructured.NestedSlice(now.Object, "status", "conditions")
	conditions = append(conditions, map[string]any{"type": "skerry.dev/Synced", "status": "False",
		"reason": "DefinitionNotAllowed", "message": "a: no", "lastTransitionTime": "2026-01-01T00:00:00Z"})
	body, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": conditions},
		"metadata": map[string]any{"uid": now.GetUID(), "resourceVersion": now.GetResourceVersion()}})
	must(t, err)
	_, err = own.Resource(crdsGVR).Patch(t.Context(), def.GetName(), types.MergePatchType, body, metav1.PatchOptions{},
		"status")
	must(t, err)
	_, err = d.Resource(crdsGVR).Patch(t.Context(), def.GetName(), types.MergePatchType,
		[]byte(`{"spec":{"names":{"shortNames":["gg"]}}}`), metav1.PatchOptions{})
	must(t, err)
	within(t, time.Minute, "the short name is accepted", func() bool {
		now, err = d.Resource(crdsGVR).Get(t.Context(), def.GetName(), metav1.GetOptions{})
		must(t, err)
		names, _, _ := unstructured.NestedStringSlice(now.Object, "status", "acceptedNames", "shortNames")
		return len(names) == 1
	})
	found := map[string]string{}
	conditions, _, _ = unstructured.NestedSlice(now.Object, "status", "conditions")
	for _, one := range conditions {
		is := one.(map[string]any)
		found[fmt.Sprint(is["type"])] = fmt.Sprint(is["status"])
	}
	if found["skerry.dev/Synced"] != "False" || found["Established"] != "True" || found["NamesAccepted"] != "True" {
		t.Errorf("%v", found)
	}
}
