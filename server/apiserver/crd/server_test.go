package crd

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestTrimDefinition: the first objects of a definition do not wait, and what only writers need of
// it is not kept.
func TestTrimDefinition(t *testing.T) {
	now := metav1.Now()
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "boats.example.com", CreationTimestamp: now,
			Annotations: map[string]string{
				corev1.LastAppliedConfigAnnotation: "{}",
				"mine":                             "yes",
			}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}},
	}
	crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
		{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue, LastTransitionTime: now},
		{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue, LastTransitionTime: now}}
	for range 2 { // it is told again of what it has made
		trimDefinition(crd)
		if crd.ManagedFields != nil || len(crd.Annotations) != 1 || crd.Annotations["mine"] != "yes" {
			t.Errorf("it keeps %v", crd.ObjectMeta)
		}
		c := crd.Status.Conditions
		if c[0].LastTransitionTime != now || c[1].LastTransitionTime.Sub(now.Time) != -holdTime ||
			c[1].Status != apiextensionsv1.ConditionTrue {
			t.Errorf("conditions: %v", c)
		}
	}
	if crd.Status.Conditions[1].LastTransitionTime.Add(2 * time.Second).After(now.Time) {
		t.Error("upstream waits two seconds from then on")
	}
}
