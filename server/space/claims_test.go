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
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/kubernetes/pkg/controller/namespace/deletion"

	"skerry.dev/skerry/server/api/v1alpha1"
)

func shown(apiVersion, kind, name, from string, owner string) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: name, UID: "u", ResourceVersion: "7"}}
	if from != "" {
		o.Annotations = map[string]string{v1alpha1.AnnotationReportedFrom: from}
	}
	if owner != "" {
		o.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: owner, Name: "db"}}
	}
	return o
}

// A site makes the claim of a StatefulSet anew that is deleted before it. So claims go when no site has the
// StatefulSet any more.
func TestClaimsEndAfterTheirStatefulSet(t *testing.T) {
	claim := shown("v1", "PersistentVolumeClaim", "data-db-0", "paris", "")
	going := claim.DeepCopy()
	going.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	for name, c := range map[string]struct {
		has   []runtime.Object
		since time.Duration // the deletion of the namespace
		fails bool          // the site is away
		waits bool
		ends  []string // what is deleted
	}{
		"a site has the StatefulSet": {[]runtime.Object{claim, shown("apps/v1", "ControllerRevision", "db-1", "paris",
			"StatefulSet")}, time.Second, false, true, []string{"statefulsets"}},
		"none has it": {[]runtime.Object{claim}, time.Second, false, false, []string{"statefulsets", "data-db-0"}},
		"the revision is of a DaemonSet": {[]runtime.Object{claim, shown("apps/v1", "ControllerRevision", "x-1", "paris",
			"DaemonSet")}, time.Second, false, false, []string{"statefulsets", "data-db-0"}},
		"the site is away": {[]runtime.Object{claim}, time.Second, true, true, []string{"statefulsets", "data-db-0"}},
		"it is away long":  {[]runtime.Object{claim}, time.Minute, true, false, nil},
		"the claim goes":   {[]runtime.Object{going}, time.Second, false, false, []string{"statefulsets"}},
		"the claim was placed": {[]runtime.Object{shown("v1", "PersistentVolumeClaim", "own", "", "")}, time.Second, false,
			false, []string{"statefulsets"}},
	} {
		client := metadataClient(t, c.has...)
		if c.fails {
			client.PrependReactor("delete", "persistentvolumeclaims",
				func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("away") })
		}
		err := endClaims(t.Context(), client, deleted("app", c.since, ""))
		var remaining *deletion.ResourcesRemainingError
		if errors.As(err, &remaining) != c.waits || c.waits != (err != nil) {
			t.Errorf("%s: %v", name, err)
		}
		var ended []string
		for _, a := range client.Actions() {
			switch a := a.(type) {
			case clienttesting.DeleteActionImpl:
				ended = append(ended, a.Name)
				if p := a.DeleteOptions.Preconditions; p == nil || *p.ResourceVersion != "7" {
					t.Errorf("%s: a claim is deleted by %v: its site would keep it", name, a.DeleteOptions)
				}
			case clienttesting.DeleteCollectionActionImpl:
				ended = append(ended, a.Resource.Resource)
			}
		}
		if !slices.Equal(ended, c.ends) {
			t.Errorf("%s: deleted are %v", name, ended)
		}
	}
}

func metadataClient(t *testing.T, has ...runtime.Object) *fake.FakeMetadataClient {
	t.Helper()
	scheme := fake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewSimpleMetadataClient(scheme, has...)
}

func deleted(name string, since time.Duration, origin string) *corev1.Namespace {
	ns := &corev1.Namespace{Spec: corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{corev1.FinalizerKubernetes}}}
	ns.Name, ns.DeletionTimestamp = name, &metav1.Time{Time: time.Now().Add(-since)}
	if origin != "" {
		ns.Annotations = map[string]string{v1alpha1.AnnotationOrigin: origin}
	}
	return ns
}

// A Namespace that lives, or lives again, or is a parent's, keeps its claims.
func TestClaimsOfALivingNamespaceStay(t *testing.T) {
	lives, emptied := deleted("app", 0, ""), deleted("app", 0, "")
	lives.DeletionTimestamp, emptied.Spec.Finalizers = nil, nil
	for _, ns := range []*corev1.Namespace{lives, emptied, deleted("app", 0, "team/")} {
		client := metadataClient(t)
		if err := endClaims(t.Context(), client, ns); err != nil || len(client.Actions()) > 0 {
			t.Errorf("%v: %v, %v", ns, err, client.Actions())
		}
	}
}
