package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Identity is who an object was before it was exported: the value of AnnotationImport.
//
// +kubebuilder:object:generate=false
type Identity struct {
	UID               string      `json:"uid"`
	CreationTimestamp metav1.Time `json:"creationTimestamp"`
	Generation        int64       `json:"generation,omitempty"`
	// ManagedFields are who set which of its fields; with null all belong to who imports.
	ManagedFields []metav1.ManagedFieldsEntry `json:"managedFields"`
}
