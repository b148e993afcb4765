package space

import (
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/metadata/fake"
	"k8s.io/kubernetes/pkg/controller/namespace/deletion"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// A site makes the claims of a StatefulSet anew that are deleted before it. So nothing else of a Namespace is
// deleted before its makers are gone at the sites, or have had their time.
func TestMakersEndBeforeWhatTheyMake(t *testing.T) {
	scheme := fake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	object := func(kind, name, from string, owner metav1.OwnerReference) runtime.Object {
		o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: name}}
		o.APIVersion, o.Kind = "apps/v1", kind
		if kind == "Pod" {
			o.APIVersion = "v1"
		}
		if from != "" {
			o.Annotations = map[string]string{v1alpha1.AnnotationReportedFrom: from}
		}
		if owner.Kind != "" {
			o.OwnerReferences = []metav1.OwnerReference{owner}
		}
		return o
	}
	set := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db"}
	other := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "StatefulSet", Name: "db"}
	for name, c := range map[string]struct {
		has   runtime.Object
		since time.Duration // the deletion of the namespace
		waits bool
		ends  bool
	}{
		"a revision that a site has":  {object("ControllerRevision", "db-1", "paris", set), time.Second, true, true},
		"a Pod that a site has":       {object("Pod", "db-0", "paris", set), time.Second, true, true},
		"a Pod that stays too long":   {object("Pod", "db-0", "paris", set), time.Minute, false, false},
		"a Pod of the space":          {object("Pod", "db-0", "", set), time.Second, false, true},
		"a Pod that nothing made":     {object("Pod", "x", "paris", metav1.OwnerReference{}), time.Second, false, true},
		"a Pod of another controller": {object("Pod", "x", "paris", other), time.Second, false, true},
	} {
		client := fake.NewSimpleMetadataClient(scheme, c.has)
		ns := &corev1.Namespace{Spec: corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{corev1.FinalizerKubernetes}}}
		ns.Name, ns.DeletionTimestamp = "app", &metav1.Time{Time: time.Now().Add(-c.since)}
		err := endMakers(t.Context(), client, ns)
		var remaining *deletion.ResourcesRemainingError
		if errors.As(err, &remaining) != c.waits || c.waits != (err != nil) {
			t.Errorf("%s: %v", name, err)
		}
		var ended []string
		for _, a := range client.Actions() {
			if a.GetVerb() == "delete-collection" {
				ended = append(ended, a.GetResource().Resource)
			}
		}
		if slices.Contains(ended, "statefulsets") != c.ends || slices.Contains(ended, "pods") {
			t.Errorf("%s: deleted are %v", name, ended)
		}
	}
}

// A Namespace that lives, or lives again, keeps what it has.
func TestMakersOfALivingNamespaceStay(t *testing.T) {
	client := fake.NewSimpleMetadataClient(fake.NewTestScheme())
	now := metav1.Now()
	for _, ns := range []*corev1.Namespace{
		{Spec: corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{corev1.FinalizerKubernetes}}},
		{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}},
	} {
		if err := endMakers(t.Context(), client, ns); err != nil || len(client.Actions()) > 0 {
			t.Errorf("%v: %v, %v", ns, err, client.Actions())
		}
	}
}
