package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/volumes"
)

var listedAt = time.Date(2026, 1, 2, 14, 20, 0, 0, time.UTC)

// moverOf is a mover of a standby of the unit web-uid, which paris has and oslo stands by for.
func moverOf(claim string, side volumes.Side, s *volumes.Standby, keep string) *appsv1.Deployment {
	mark := volumes.Mark{Unit: "web-uid", From: "p-uid", To: "o-uid", Side: side}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "copy-" + claim + "-" + string(side), Namespace: "web",
		Labels:      map[string]string{"app.kubernetes.io/component": volumes.Component, v1alpha1.LabelTarget: "oslo"},
		Annotations: map[string]string{v1alpha1.AnnotationMover: mark.String()}}}
	if side.Reads() {
		d.Labels[v1alpha1.LabelTarget] = "paris"
	}
	if keep != "" {
		d.Annotations[v1alpha1.AnnotationKeepUntil] = keep
	}
	if s != nil {
		text, _ := json.Marshal(s)
		d.Annotations[v1alpha1.AnnotationStandby] = string(text)
	}
	d.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "volume", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
	return d
}

func volumeWorld(objects ...runtime.Object) (*volumeUser, *fake.Clientset) {
	client := fake.NewClientset(append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "web",
		UID: "web-uid", Labels: map[string]string{v1alpha1.LabelTarget: "paris"}}})...)
	return &volumeUser{client: client, now: func() time.Time { return listedAt }, pause: time.Millisecond}, client
}

func standbyOf(lost *volumes.Lost) *volumes.Standby {
	return &volumes.Standby{Source: "paris", Target: "oslo", Lost: lost,
		Last: &volumes.Round{At: listedAt.Add(-15 * time.Minute), Files: 3, Bytes: 4 << 20, Sent: 1 << 20}}
}

func TestListVolumes(t *testing.T) {
	ended := standbyOf(nil)
	ended.Ended = true
	v, _ := volumeWorld(moverOf("notes", volumes.SideStandby, standbyOf(nil), ""), moverOf("notes", volumes.SideSource, nil, ""),
		moverOf("old", volumes.SideSource, nil, "9999-12-31T00:00:00Z"), moverOf("was", volumes.SideStandby, ended, ""),
		&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "none", Namespace: "web"},
			Status: corev1.PersistentVolumeClaimStatus{Conditions: []corev1.PersistentVolumeClaimCondition{
				{Type: v1alpha1.ConditionReplicated, Status: "False", Message: "not replicated: say so"}}}})
	var out bytes.Buffer
	if err := v.list(t.Context(), "", "", &out); err != nil {
		t.Fatal(err)
	}
	want := []string{"CLAIM MODE SOURCE STANDBY LAST BYTES FILES SENT NEXT PROBLEM",
		"web/none None - - - - - - - not replicated: say so",
		"web/notes Fuzzy paris oslo 15m ago 4.19 MB 3 1.05 MB -",
		"web/old Kept paris - - - - - - what it held when the app was lost with it; give it up with skerry volume forget",
		"web/was Ended paris oslo 15m ago 4.19 MB 3 1.05 MB - it is not replicated now, and stays as it is; skerry volume " +
			"forget deletes it"}
	for i, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		if got := strings.Join(strings.Fields(line), " "); i >= len(want) || got != want[i] {
			t.Errorf("line %d: %s", i, got)
		}
	}
}

// A promotion is refused while the source may run, says what is given up, and has the label and all claims of the unit
// say where it begins.
func TestPromoteVolume(t *testing.T) {
	lost := &volumes.Lost{Since: listedAt.Add(-3 * time.Minute), Certain: true}
	notes := types.NamespacedName{Namespace: "web", Name: "notes"}
	for name, c := range map[string]struct {
		is   *volumes.Standby
		at   string
		want string
	}{
		"connected":   {standbyOf(nil), "", "paris is connected"},
		"may run":     {standbyOf(&volumes.Lost{Why: "waits for the lease of paris"}), "", "waits for the lease"},
		"never whole": {&volumes.Standby{Target: "oslo", Lost: lost}, "", "no whole round"},
		"ended":       {&volumes.Standby{Ended: true, Last: standbyOf(nil).Last}, "", "annotate deployment copy-notes-standby"},
		"elsewhere":   {standbyOf(lost), "rome", "rome has nothing of web/notes; --at oslo"},
	} {
		v, client := volumeWorld(moverOf("notes", volumes.SideStandby, c.is, ""))
		err := v.promote(t.Context(), notes, c.at, false, time.Second, &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		for _, a := range client.Actions() {
			if a.GetVerb() != "list" && a.GetVerb() != "get" {
				t.Errorf("%s: it has done %v", name, a)
			}
		}
	}
	v, client := volumeWorld(moverOf("notes", volumes.SideStandby, standbyOf(lost), ""),
		moverOf("data", volumes.SideStandby, standbyOf(lost), ""))
	var out bytes.Buffer
	if err := v.promote(t.Context(), notes, "oslo", true, time.Second, &out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "12m0s before paris went silent; 3 files, 4.19 MB. What was written later is given up"); n != 2 {
		t.Errorf("it says %s", out.String())
	}
	client.PrependReactor("patch", "deployments", func(a ktesting.Action) (bool, runtime.Object, error) {
		name := a.(ktesting.PatchAction).GetName() // the center ends the standby
		return true, &appsv1.Deployment{}, client.Tracker().Delete(appsv1.SchemeGroupVersion.WithResource("deployments"), "web", name)
	})
	if err := v.promote(t.Context(), notes, "oslo", false, time.Second, &out); err != nil {
		t.Fatal(err)
	}
	n, _ := client.CoreV1().Namespaces().Get(context.Background(), "web", metav1.GetOptions{})
	left, _ := client.AppsV1().Deployments("web").List(context.Background(), metav1.ListOptions{})
	if n.Labels[v1alpha1.LabelTarget] != "oslo" || len(left.Items) != 0 || !strings.Contains(out.String(), "is at oslo") {
		t.Errorf("%v, %d not promoted: %s", n.Labels, len(left.Items), out.String())
	}
}

func TestForgetVolume(t *testing.T) {
	v, client := volumeWorld(moverOf("notes", volumes.SideSource, nil, "9999-12-31T00:00:00Z"))
	notes := types.NamespacedName{Namespace: "web", Name: "notes"}
	var out bytes.Buffer
	if err := v.forget(t.Context(), notes, "", false, time.Second, &out); err != nil ||
		!strings.Contains(out.String(), "would delete the volume that web/notes had at paris") {
		t.Fatalf("%v: %s", err, out.String())
	}
	client.PrependReactor("patch", "deployments", func(a ktesting.Action) (bool, runtime.Object, error) {
		if !strings.Contains(string(a.(ktesting.PatchAction).GetPatch()), `"skerry.dev/keep-until":"2026-01-02T14:20:00Z"`) {
			t.Errorf("%s", a.(ktesting.PatchAction).GetPatch())
		}
		return true, &appsv1.Deployment{}, client.Tracker().Delete(appsv1.SchemeGroupVersion.WithResource("deployments"), "web",
			a.(ktesting.PatchAction).GetName())
	})
	if err := v.forget(t.Context(), notes, "paris", true, time.Second, &out); err != nil ||
		!strings.Contains(out.String(), "deleted the volume") {
		t.Errorf("%v: %s", err, out.String())
	}
}

// The center takes an order back that it does not obey. Whoever has given it is told why, and none is left for later.
func TestOrdersThatTheCenterTakesBack(t *testing.T) {
	lost := &volumes.Lost{Since: listedAt.Add(-3 * time.Minute), Certain: true}
	v, client := volumeWorld(moverOf("notes", volumes.SideStandby, standbyOf(lost), ""))
	orders := 0
	client.PrependReactor("patch", "deployments", func(ktesting.Action) (bool, runtime.Object, error) {
		orders++
		return true, &appsv1.Deployment{}, nil
	})
	notes := types.NamespacedName{Namespace: "web", Name: "notes"}
	err := v.promote(t.Context(), notes, "oslo", false, time.Minute, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "paris is connected again") || orders != 1 {
		t.Errorf("promote: %v after %d orders", err, orders)
	}
	orders = 0
	err = v.forget(t.Context(), notes, "oslo", true, time.Minute, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "web/notes is replicated to oslo") || orders != mostRefused {
		t.Errorf("forget: %v after %d orders", err, orders)
	}
}

// What stands on a Deployment of a space does nothing to the terminal of whoever promotes or forgets a standby.
func TestWordsOfStandbysArePrinted(t *testing.T) {
	of := standbyOf(&volumes.Lost{Since: listedAt.Add(-3 * time.Minute), Certain: true})
	of.Source, of.Target = "paris\x1b[31m", "oslo\x1b]0;x\a"
	notes := types.NamespacedName{Namespace: "web", Name: "notes"}
	var out bytes.Buffer
	v, _ := volumeWorld(moverOf("notes", volumes.SideStandby, of, ""))
	if err := v.promote(t.Context(), notes, "", true, time.Second, &out); err != nil {
		t.Error(err)
	}
	of.Lost, of.Ended = nil, true
	v, _ = volumeWorld(moverOf("notes", volumes.SideStandby, of, ""))
	if err := v.forget(t.Context(), notes, "", false, time.Second, &out); err != nil {
		t.Error(err)
	}
	if text := out.String(); strings.ContainsAny(text, "\x1b\a") || strings.Count(text, "oslo") != 2 {
		t.Errorf("%q", text)
	}
}
