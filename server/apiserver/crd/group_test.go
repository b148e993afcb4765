package crd

import (
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestKeepStored: the finalizer of a definition writes the condition Terminating although it has
// not seen its own last write. Everything else that has changed meanwhile is a conflict.
func TestKeepStored(t *testing.T) {
	now := metav1.Now()
	condition := func(
		kind apiextensions.CustomResourceDefinitionConditionType,
		is apiextensions.ConditionStatus,
		why string,
	) apiextensions.CustomResourceDefinitionCondition {
		return apiextensions.CustomResourceDefinitionCondition{Type: kind, Status: is, Reason: why}
	}
	definition := func(version string) *apiextensions.CustomResourceDefinition {
		crd := &apiextensions.CustomResourceDefinition{}
		crd.Name, crd.UID, crd.ResourceVersion, crd.DeletionTimestamp = "boats.example.com", "1", version, &now
		crd.Finalizers = []string{"customresourcecleanup.apiextensions.k8s.io"}
		crd.Status.Conditions = []apiextensions.CustomResourceDefinitionCondition{
			condition(apiextensions.Established, apiextensions.ConditionTrue, ""),
			condition(apiextensions.Terminating, apiextensions.ConditionTrue, "InstanceDeletionInProgress"),
		}
		return crd
	}
	for name, c := range map[string]struct {
		change func(stored, written *apiextensions.CustomResourceDefinition)
		want   string
	}{
		"its own last write": {func(stored, _ *apiextensions.CustomResourceDefinition) {
			stored.Status.Conditions[1].Reason = "InstanceDeletionFailed"
		}, "7"},
		"another condition": {func(stored, _ *apiextensions.CustomResourceDefinition) {
			stored.Status.Conditions[0].Status = apiextensions.ConditionFalse
		}, "6"},
		"the end": {func(_, written *apiextensions.CustomResourceDefinition) { written.Finalizers = nil }, "6"},
		"another one of the name": {func(stored, _ *apiextensions.CustomResourceDefinition) {
			stored.UID = "2"
		}, "6"},
		"not seen as deleted": {func(_, written *apiextensions.CustomResourceDefinition) {
			written.DeletionTimestamp = nil
		}, "6"},
	} {
		stored, written := definition("7"), definition("6")
		stored.Annotations = map[string]string{"mine": "yes"}
		c.change(stored, written)
		if _, err := keepStored(t.Context(), written, stored); err != nil {
			t.Fatal(err)
		}
		if written.ResourceVersion != c.want || written.Annotations["mine"] != "yes" {
			t.Errorf("%s: version %s with %v, want %s", name, written.ResourceVersion, written.Annotations, c.want)
		}
	}
}
