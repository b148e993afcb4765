package server_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver"
)

// TestClaimsAreCounted: what sites report counts in a ResourceQuota, which refuses only users.
func TestClaimsAreCounted(t *testing.T) {
	c := start(t, t.TempDir(), newAuthority(t), nil)
	_, cancel := c.counting(t)
	defer func() { cancel(); c.stop() }()
	c.createSpace("team", "Delete")
	api, own := clients(t, c.admin("team")).CoreV1(), clients(t, c.api.Loopback("team")).CoreV1()
	claim := func(name string, notes map[string]string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: notes},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("1Gi")}},
			}}
	}
	_, err := api.ResourceQuotas("default").Create(t.Context(),
		&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "claims"},
			Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
				"persistentvolumeclaims": resource.MustParse("1"), "requests.storage": resource.MustParse("1Gi")}}},
		metav1.CreateOptions{})
	must(t, err)
	used := func(n, storage string) {
		t.Helper()
		within(t, 20*time.Second, "claims are counted: "+n, func() bool {
			q, err := api.ResourceQuotas("default").Get(t.Context(), "claims", metav1.GetOptions{})
			must(t, err)
			count, bytes := q.Status.Used["persistentvolumeclaims"], q.Status.Used["requests.storage"]
			return count.String() == n && bytes.String() == storage
		})
	}
	for _, name := range []string{"data-db-0", "data-db-1"} {
		_, err = own.PersistentVolumeClaims("default").Create(t.Context(), claim(name, bornMarks()), metav1.CreateOptions{})
		must(t, err)
	}
	used("2", "2Gi")
	if _, err = api.PersistentVolumeClaims("default").Create(t.Context(), claim("mine", nil),
		metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a claim beyond the quota: %v", err)
	}
	for _, name := range []string{"data-db-0", "data-db-1"} {
		must(t, own.PersistentVolumeClaims("default").Delete(t.Context(), name, metav1.DeleteOptions{}))
	}
	used("0", "0")
}

// TestClaimsAreWritten: how much a claim of a site requests is changed there. Its owners in the space
// are here alone, and their end is that of the claim at its site.
func TestClaimsAreWritten(t *testing.T) {
	asked := &askedSites{}
	c := start(t, t.TempDir(), newAuthority(t), nil, func(config *apiserver.Config) { config.Sites = asked })
	_, cancel := c.counting(t)
	defer func() { cancel(); c.stop() }()
	c.createSpace("team", "Delete")
	api, own := clients(t, c.admin("team")).CoreV1(), clients(t, c.api.Loopback("team")).CoreV1()
	claims := api.PersistentVolumeClaims("default")
	_, err := own.PersistentVolumeClaims("default").Create(t.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data-db-0", Annotations: bornMarks(), OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", UID: "u-db"}}},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("1Gi")}},
		}}, metav1.CreateOptions{})
	must(t, err)
	patch := func(body string) (*corev1.PersistentVolumeClaim, error) {
		return claims.Patch(t.Context(), "data-db-0", types.MergePatchType, []byte(body), metav1.PatchOptions{})
	}
	asked.last()
	_, err = patch(`{"spec":{"resources":{"requests":{"storage":"2048Mi"}}},"metadata":{"labels":{"a":"b"}}}`)
	must(t, err)
	want := `paris team/default/data-db-0 u-1 change  {"labels":{"a":"b"},"storage":"2Gi"} as admin`
	if got := asked.last(); got != want {
		t.Errorf("asked %q, want %q", got, want)
	}
	if _, err = patch(`{"spec":{"resources":{"requests":{"storage":"1024Mi"}}}}`); err != nil || asked.last() != "" {
		t.Errorf("the same size in other words: %v", err)
	}
	for name, body := range map[string]string{
		"no size":               `{"spec":{"resources":{"requests":null}}}`,
		"another resource":      `{"spec":{"resources":{"requests":{"cpu":"1"}}}}`,
		"a class":               `{"spec":{"storageClassName":"fast"}}`,
		"without its site's":    `{"metadata":{"ownerReferences":[]}}`,
		"an owner without name": `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","uid":"u-2"}]}}`,
	} {
		if _, err = patch(body); !apierrors.IsInvalid(err) || asked.last() != "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	owner, err := api.ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "queue"}}, metav1.CreateOptions{})
	must(t, err)
	site := `{"apiVersion":"apps/v1","kind":"StatefulSet","name":"db","uid":"u-db"}`
	here := `{"apiVersion":"v1","kind":"ConfigMap","name":"queue","uid":"` + string(owner.UID) + `"}`
	got, err := patch(`{"metadata":{"ownerReferences":[` + site + `,` + here + `]}}`)
	if must(t, err); len(got.OwnerReferences) != 2 ||
		got.Annotations[v1alpha1.AnnotationSpaceOwners] != string(owner.UID) || asked.last() != "" {
		t.Errorf("owners %v, %v", got.OwnerReferences, got.Annotations)
	}
	c.mirror("team", "db-0", bornMarks())
	pod, err := api.Pods("default").Patch(t.Context(), "db-0", types.MergePatchType,
		[]byte(`{"metadata":{"ownerReferences":[`+here+`]}}`), metav1.PatchOptions{})
	if must(t, err); pod.Annotations[v1alpha1.AnnotationSpaceOwners] != string(owner.UID) || asked.last() != "" {
		t.Errorf("a Pod of a site with an owner: %v, %v", pod.OwnerReferences, pod.Annotations)
	}
	background := metav1.DeletePropagationBackground
	must(t, own.Pods("default").Delete(t.Context(), "db-0", metav1.DeleteOptions{ // as the garbage collector deletes
		PropagationPolicy: &background, Preconditions: &metav1.Preconditions{ResourceVersion: &pod.ResourceVersion}}))
	if got := asked.last(); !strings.HasPrefix(got, "paris team/default/db-0 u-1 delete propagationPolicy=Background") {
		t.Errorf("for the garbage collector the site was asked %q", got)
	}
	got, err = patch(`{"metadata":{"ownerReferences":[` + site + `]}}`)
	if must(t, err); len(got.OwnerReferences) != 1 || got.Annotations[v1alpha1.AnnotationSpaceOwners] != "" {
		t.Errorf("without that owner: %v, %v", got.OwnerReferences, got.Annotations)
	}
}

// TestClaimsOfSitesAreDeleted: a claim of a site, of a volume or of devices, is deleted there, and shown
// as being deleted once the center says so. A claim of the space itself goes at once, as before.
func TestClaimsOfSitesAreDeleted(t *testing.T) {
	asked := &askedSites{}
	c := start(t, t.TempDir(), newAuthority(t), nil, func(config *apiserver.Config) { config.Sites = asked })
	_, cancel := c.counting(t)
	defer func() { cancel(); c.stop() }()
	c.createSpace("team", "Delete")
	api, own := clients(t, c.admin("team")), clients(t, c.api.Loopback("team"))
	create, remove, ctx := metav1.CreateOptions{}, metav1.DeleteOptions{}, t.Context()
	volume := func(name string, notes map[string]string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: notes},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("1Gi")}},
			}}
	}
	devices := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "train-gpu-x7", Annotations: bornMarks()},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
			{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu.example.com"}}}}},
		Status: resourcev1.ResourceClaimStatus{ReservedFor: []resourcev1.ResourceClaimConsumerReference{
			{Resource: "pods", Name: "train", UID: "1"}}}}
	_, err := own.CoreV1().PersistentVolumeClaims("default").Create(ctx, volume("data-db-0", bornMarks()), create)
	must(t, err)
	_, err = own.ResourceV1().ResourceClaims("default").Create(ctx, devices, create)
	must(t, err)
	deletion := func(as *kubernetes.Clientset, name string, o metav1.DeleteOptions) error {
		if name == devices.Name {
			return as.ResourceV1().ResourceClaims("default").Delete(ctx, name, o)
		}
		return as.CoreV1().PersistentVolumeClaims("default").Delete(ctx, name, o)
	}
	read := func(name string) (metav1.Object, error) {
		if name == devices.Name {
			return api.ResourceV1().ResourceClaims("default").Get(ctx, name, metav1.GetOptions{})
		}
		return api.CoreV1().PersistentVolumeClaims("default").Get(ctx, name, metav1.GetOptions{})
	}
	one, now := int64(1), int64(0)
	for _, name := range []string{"data-db-0", devices.Name} {
		asked.last()
		must(t, deletion(api, name, remove))
		if got := asked.last(); !strings.HasPrefix(got, "paris team/default/"+name+" u-1 delete") {
			t.Errorf("the site was asked %q", got)
		}
		if o, err := read(name); err != nil || o.GetDeletionTimestamp() != nil {
			t.Errorf("%s: %v, %v; the site has not said anything yet", name, o, err)
		}
		must(t, deletion(own, name, metav1.DeleteOptions{GracePeriodSeconds: &one}))
		if o, err := read(name); err != nil || o.GetDeletionTimestamp() == nil {
			t.Errorf("%s is not shown as being deleted: %v", name, err)
		}
		must(t, deletion(own, name, metav1.DeleteOptions{GracePeriodSeconds: &now}))
		if _, err := read(name); !apierrors.IsNotFound(err) {
			t.Errorf("%s has not gone: %v", name, err)
		}
	}
	_, err = api.CoreV1().PersistentVolumeClaims("default").Create(ctx, volume("mine", nil), create)
	must(t, err)
	must(t, deletion(api, "mine", metav1.DeleteOptions{GracePeriodSeconds: &one}))
	if _, err := read("mine"); !apierrors.IsNotFound(err) {
		t.Errorf("a claim of the space itself has not gone: %v", err)
	}
}
