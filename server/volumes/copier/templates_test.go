package copier

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/volumes"
	"skerry.dev/skerry/store"
)

// claim is one that a target shows.
func claim(name, from string, phase corev1.PersistentVolumeClaimPhase) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "web",
			Annotations: map[string]string{v1alpha1.AnnotationReportedFrom: from}},
		Spec:   corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}},
		Status: corev1.PersistentVolumeClaimStatus{Phase: phase},
	}
}

// The claims of a StatefulSet are those of its templates that are bound at the target that is left.
func TestWhichClaimsAreShown(t *testing.T) {
	client := fake.NewClientset(claim("data-db-1", "paris", corev1.ClaimBound), claim("data-db-0", "paris", corev1.ClaimBound),
		claim("other-db-0", "paris", corev1.ClaimBound), claim("data-db-2", "oslo", corev1.ClaimBound),
		claim("data-db-3", "paris", corev1.ClaimPending), claim("data-db2-0", "paris", corev1.ClaimBound))
	set := map[string]any{"spec": map[string]any{"volumeClaimTemplates": []any{map[string]any{
		"metadata": map[string]any{"name": "data"}, "spec": map[string]any{"storageClassName": "fast"}}}}}
	is, c := &volumes.Move{From: "paris"}, volumes.Claim{Namespace: "web", Name: "db"}
	made, err := (&moving{}).made(t.Context(), client, is, c, set)
	if err != nil || len(made) != 2 {
		t.Fatalf("%+v, %v", made, err)
	}
	for i, name := range []string{"data-db-0", "data-db-1"} {
		if m := made[i]; m.Name != name || m.Set != "db" || m.Template != "data" || m.Of != 2 ||
			!strings.Contains(string(m.Spec), `"storageClassName":"fast"`) {
			t.Errorf("%d: %+v", i, m)
		}
	}
	c.Name = "db3"
	if made, err := (&moving{}).made(t.Context(), client, is, c, set); err == nil {
		t.Errorf("nothing is shown of it, and %v is copied", made)
	}
}

// Claims that go when their StatefulSet is stopped are not copied: the move stops it, and their data would be gone.
func TestClaimsThatGoWithTheirSet(t *testing.T) {
	k := store.Key{Space: "shop", Group: "apps", Resource: "statefulsets", Namespace: "web", Name: "db"}
	move := &volumes.Move{Space: "shop", From: "paris",
		Claims: []volumes.Claim{{Namespace: "web", Name: "db", User: k, UserVersion: "apps/v1", Templates: true}}}
	for policy, want := range map[appsv1.PersistentVolumeClaimRetentionPolicyType]string{
		appsv1.DeletePersistentVolumeClaimRetentionPolicyType: "whenDeleted to Retain",
		appsv1.RetainPersistentVolumeClaimRetentionPolicyType: "",
	} {
		shown := claim("data-db-0", "paris", corev1.ClaimBound)
		set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db", Namespace: "web"}, Spec: appsv1.StatefulSetSpec{
			PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: policy},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{
				{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: shown.Spec}},
		}}
		f := &fakeSpace{Clientset: fake.NewClientset(set, shown)}
		m := &moving{c: New(Config{API: f})}
		claims, err := m.resolve(t.Context(), f, move, nil)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %q", policy, claims, err, want)
		}
		if err == nil && (len(claims) != 1 || claims[0].Name != "data-db-0") {
			t.Errorf("%s: %+v", policy, claims)
		}
	}
}

func TestWhatIsNotCopied(t *testing.T) {
	for _, c := range []struct {
		spec          map[string]any
		move, standby string // why not
	}{
		{map[string]any{"accessModes": []any{"ReadWriteOnce"}}, "", ""},
		{map[string]any{"accessModes": []any{"ReadWriteMany", "ReadWriteOnce"}, "volumeMode": "Filesystem"}, "", ""},
		{map[string]any{"accessModes": []any{"ReadWriteOncePod"}}, "", "one Pod alone"},
		{map[string]any{"volumeMode": "Block"}, "raw block", "raw block"},
	} {
		for beside, want := range map[bool]string{false: c.move, true: c.standby} {
			onePod, err := copyable("data", c.spec, beside)
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %v, want %q", c.spec, err, want)
			}
			if err == nil && onePod != (c.standby != "") {
				t.Errorf("%v is for one Pod: %v", c.spec, onePod)
			}
		}
	}
}
