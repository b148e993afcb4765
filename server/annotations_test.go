package server_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"skerry.dev/skerry/server/api/v1alpha1"
)

func annotations(t *testing.T, c *center) {
	ctx := t.Context()
	api := clients(t, c.admin("team")).CoreV1().ConfigMaps("default")
	cm, err := api.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "cm"}}, metav1.CreateOptions{})
	must(t, err)
	if cm.Annotations[v1alpha1.AnnotationTargets] != "paris" {
		t.Errorf("the annotation is not set in the same write: %v", cm.Annotations)
	}
	_, err = api.Patch(
		ctx,
		"cm",
		types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"skerry.dev/targets":"rome"}}}`),
		metav1.PatchOptions{},
	)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), v1alpha1.LabelTarget) {
		t.Errorf("a user changes the annotation: %v", err)
	}
	takenOff(t, c)
	cm, err = api.Update(
		ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "cm"}, Data: map[string]string{"a": "b"}},
		metav1.UpdateOptions{},
	)
	must(t, err)
	if cm.Annotations[v1alpha1.AnnotationTargets] != "paris" {
		t.Error("a replaced object lost its annotation")
	}
	for _, copied := range []string{`"skerry.dev/targets":"rome","mine":"yes"`, `"mine":"no"`} {
		force := true
		cm, err = api.Patch(
			ctx,
			"cm",
			types.ApplyPatchType,
			[]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"cm","annotations":{`+copied+`}}}`),
			metav1.PatchOptions{FieldManager: "operator", Force: &force},
		)
		if err != nil || cm.Annotations[v1alpha1.AnnotationTargets] != "paris" || cm.Annotations["mine"] == "" {
			t.Errorf("server-side apply with %s: %v %v", copied, cm.Annotations, err)
		}
	}
	// What copies annotations, as operators do, does not move anything by that, and is not kept
	// from its work.
	stranger := map[string]string{v1alpha1.AnnotationTargets: "rome", v1alpha1.AnnotationUnit: "forged", "mine": "yes"}
	copied, err := api.Create(
		ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "copied", Annotations: stranger}},
		metav1.CreateOptions{},
	)
	must(t, err)
	for _, after := range []string{"create", "update"} {
		if notes := copied.Annotations; notes[v1alpha1.AnnotationTargets] != "paris" || notes["mine"] != "yes" ||
			notes[v1alpha1.AnnotationUnit] == "" || notes[v1alpha1.AnnotationUnit] == "forged" || len(notes) != 3 {
			t.Errorf("the annotations of a copy after %s: %v", after, notes)
		}
		copied.Annotations, copied.Data = stranger, map[string]string{"a": "b"}
		copied, err = api.Update(ctx, copied, metav1.UpdateOptions{})
		must(t, err)
	}
	twin := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "mirror", Annotations: map[string]string{
		v1alpha1.AnnotationReportedFrom: "paris", v1alpha1.AnnotationReportedCreation: "x", "note": "kept"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	pod, err := clients(t, c.admin("team")).CoreV1().Pods("default").Create(ctx, twin, metav1.CreateOptions{})
	must(t, err)
	for name := range pod.Annotations {
		if strings.HasPrefix(name, v1alpha1.AnnotationReported) || pod.Annotations["note"] != "kept" {
			t.Errorf("a user makes what only mirrors: %v", pod.Annotations)
		}
	}
	twin.Name, twin.Labels = "taken", map[string]string{"pod-template-hash": "x"}
	_, err = clients(t, c.admin("team")).CoreV1().Pods("default").Create(ctx, twin, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "pod-template-hash") {
		t.Errorf("a copy that a ReplicaSet would take: %v", err)
	}
	own := clients(t, c.api.Loopback("team")).CoreV1().ConfigMaps("default")
	_, err = own.Patch(
		ctx,
		"cm",
		types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"skerry.dev/targets":"rome"}}}`),
		metav1.PatchOptions{},
	)
	check(t, err)
}

// takenOff: a patch that removes annotations of the center is done without that, whichever they are.
func takenOff(t *testing.T, c *center) {
	ctx := t.Context()
	api, own := clients(
		t,
		c.admin("team"),
	).CoreV1().ConfigMaps(
		"default",
	), clients(
		t,
		c.api.Loopback("team"),
	).CoreV1().ConfigMaps(
		"default",
	)
	notes := map[string]string{}
	for _, name := range v1alpha1.CenterAnnotations() {
		notes[name] = "{}"
	}
	created, err := own.Create(
		ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "annotated", Annotations: notes}},
		metav1.CreateOptions{},
	)
	must(t, err)
	if notes[v1alpha1.AnnotationUnit] = created.Annotations[v1alpha1.AnnotationUnit]; len(created.Annotations) != len(notes) ||
		notes[v1alpha1.AnnotationUnit] == "{}" {
		t.Errorf("created with %v", created.Annotations) // what it is with is not the writer's to say
	}
	for kind, body := range map[types.PatchType]string{
		types.MergePatchType:          `{"metadata":{"annotations":null},"data":{"by":"merge"}}`,
		types.StrategicMergePatchType: `{"metadata":{"annotations":{"$patch":"replace","mine":"yes"}},"data":{"by":"strategic"}}`,
		types.JSONPatchType:           `[{"op":"remove","path":"/metadata/annotations"},{"op":"add","path":"/data","value":{"by":"json"}}]`,
	} {
		cm, err := api.Patch(ctx, "annotated", kind, []byte(body), metav1.PatchOptions{})
		if err != nil || cm.Data["by"] == "" {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		for name, was := range notes {
			if cm.Annotations[name] != was {
				t.Errorf("%s takes off %s: %v", kind, name, cm.Annotations)
			}
		}
	}
	must(t, own.Delete(ctx, "annotated", metav1.DeleteOptions{}))
}

// placedIf is the answer of a PlaceFunc.
func placedIf(known bool, target string) (targets, unit string) {
	if !known {
		return "", ""
	}
	return target, "a-unit"
}
