package storage

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// What an older center filled in, without a mark, is told from what users wish by who set it.
func TestAddressesOfOlderCenters(t *testing.T) {
	by := func(manager string, operation metav1.ManagedFieldsOperationType) []metav1.ManagedFieldsEntry {
		return []metav1.ManagedFieldsEntry{
			{
				Manager:    manager,
				Operation:  operation,
				FieldsType: "FieldsV1",
				FieldsV1:   metav1.NewFieldsV1(`{"f:spec":{"f:clusterIP":{}}}`),
			},
		}
	}
	for _, x := range []struct {
		what     string
		ip       string
		managers []metav1.ManagedFieldsEntry
		notes    map[string]string
		want     string
	}{
		{"the center", "10.0.0.1", by("skerry", metav1.ManagedFieldsOperationUpdate), nil, `{"clusterIP":"10.0.0.1"}`},
		{"a parent", "10.0.0.1", by("skerry", metav1.ManagedFieldsOperationApply), nil, ""},
		{"a user", "10.0.0.1", by("kubectl-create", metav1.ManagedFieldsOperationUpdate), nil, ""},
		{"nobody", "None", by("skerry", metav1.ManagedFieldsOperationUpdate), nil, ""},
		{
			"an older center with node ports",
			"10.0.0.1",
			nil,
			map[string]string{v1alpha1.AnnotationNodePorts: "30500,30501"},
			`{"clusterIP":"10.0.0.1","nodePorts":[30500,30501]}`,
		},
		{
			"this one",
			"10.0.0.1",
			by("skerry", metav1.ManagedFieldsOperationUpdate),
			map[string]string{v1alpha1.AnnotationAllocated: `{"nodePorts":[1]}`},
			`{"nodePorts":[1]}`,
		},
	} {
		s := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{ManagedFields: x.managers, Annotations: x.notes},
			Spec:       corev1.ServiceSpec{ClusterIP: x.ip},
		}
		markAddress(s)
		if got := s.Annotations[v1alpha1.AnnotationAllocated]; got != x.want ||
			s.Annotations[v1alpha1.AnnotationNodePorts] != "" {
			t.Errorf("set by %s: %v, want %q", x.what, s.Annotations, x.want)
		}
	}
}
