package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var groupVersion = schema.GroupVersion{Group: "example.com", Version: "v1"}

// website is the operator's custom resource.
type website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		Text     string `json:"text,omitempty"`
		Image    string `json:"image"`
		Replicas int32  `json:"replicas"`
	} `json:"spec"`
	Status struct {
		Replicas   int32              `json:"replicas,omitempty"`
		Ready      int32              `json:"ready,omitempty"`
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (w *website) DeepCopyObject() runtime.Object {
	out := *w
	w.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Conditions = nil
	for _, c := range w.Status.Conditions {
		out.Status.Conditions = append(out.Status.Conditions, *c.DeepCopy())
	}
	return &out
}

type websiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []website `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *websiteList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = nil
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*website))
	}
	return &out
}

func addToScheme(s *runtime.Scheme) {
	s.AddKnownTypeWithName(groupVersion.WithKind("Website"), &website{})
	s.AddKnownTypeWithName(groupVersion.WithKind("WebsiteList"), &websiteList{})
	metav1.AddToGroupVersion(s, groupVersion)
}
