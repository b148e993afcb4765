package admission

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/apis/batch"
	api "k8s.io/kubernetes/pkg/apis/core"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/placement"
)

// What a Job's and a Pod's account has is written down when they are made by a user, and other
// kinds are left to what their account has at any time.
func TestWhatPodsUseIsWrittenDown(t *testing.T) {
	answer := placement.SpaceAPI
	var asked placement.PodAccount
	m := &Annotations{PodAPI: func(space, namespace string, a placement.PodAccount) placement.PodAPI {
		if space != "shop" || namespace != "app" {
			t.Errorf("asked of %s/%s", space, namespace)
		}
		asked = a
		return answer
	}}
	admit := func(ctx context.Context, o runtime.Object, resource string) {
		t.Helper()
		a := admission.NewAttributesRecord(o, nil, schema.GroupVersionKind{}, "app", "x",
			schema.GroupVersionResource{Resource: resource}, "", admission.Create, nil, false, &user.DefaultInfo{Name: "alice"})
		if err := m.Admit(ctx, a, nil); err != nil {
			t.Fatal(err)
		}
	}
	ctx := request.WithSpace(t.Context(), "shop")
	spec := api.PodSpec{ServiceAccountName: "op"}
	template := api.PodTemplateSpec{Spec: spec, ObjectMeta: metav1.ObjectMeta{
		Annotations: map[string]string{v1alpha1.AnnotationPodAPI: "Space"}}}
	job := &batch.Job{Spec: batch.JobSpec{Template: template}}
	admit(ctx, job, "jobs")
	if job.Annotations[v1alpha1.AnnotationSpaceAPI] != "op" || asked.Name != "op" || asked.Wish != placement.SpaceAPI {
		t.Errorf("a Job has %v, asked %+v", job.Annotations, asked)
	}
	forged := &batch.Job{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationSpaceAPI: "admin"}}}
	answer = placement.NoWish
	admit(ctx, forged, "jobs")
	if got := forged.Annotations[v1alpha1.AnnotationSpaceAPI]; got != "" || asked.Name != "default" {
		t.Errorf("a user's own mark stays as %q, asked %+v", got, asked)
	}
	answer = placement.NoAPI
	pod := &api.Pod{Spec: spec}
	admit(ctx, pod, "pods")
	if off := pod.Spec.AutomountServiceAccountToken; off == nil || *off || len(pod.Annotations) > 0 {
		t.Errorf("a Pod without any API: %v %v", off, pod.Annotations)
	}
	answer = placement.SpaceAPI
	deployment := &apps.Deployment{Spec: apps.DeploymentSpec{Template: template}}
	admit(ctx, deployment, "deployments")
	inner := &api.Pod{Spec: spec}
	admit(request.AsCenter(ctx), inner, "pods")
	if len(deployment.Annotations) > 0 || len(inner.Annotations) > 0 {
		t.Errorf("a Deployment has %v, what the center makes %v", deployment.Annotations, inner.Annotations)
	}
}

// warned collects warnings.
type warned []string

func (w *warned) AddWarning(_, text string) { *w = append(*w, text) }

func TestAWordThatMeansNothingIsToldSo(t *testing.T) {
	notes := func(word string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationPodAPI: word}}
	}
	for word, want := range map[string]int{"Space": 0, "Target": 0, "None": 0, "space": 1, "": 1} {
		template := api.PodTemplateSpec{ObjectMeta: notes(word)}
		for _, o := range []metav1.Object{
			&api.Namespace{ObjectMeta: notes(word)}, &api.ServiceAccount{ObjectMeta: notes(word)},
			&apps.Deployment{Spec: apps.DeploymentSpec{Template: template}},
			&apps.StatefulSet{Spec: apps.StatefulSetSpec{Template: template}},
			&apps.DaemonSet{Spec: apps.DaemonSetSpec{Template: template}},
			&apps.ReplicaSet{Spec: apps.ReplicaSetSpec{Template: template}},
			&batch.Job{Spec: batch.JobSpec{Template: template}},
			&batch.CronJob{Spec: batch.CronJobSpec{JobTemplate: batch.JobTemplateSpec{Spec: batch.JobSpec{Template: template}}}},
		} {
			var got warned
			warnWish(warning.WithWarningRecorder(t.Context(), &got), o, o)
			if len(got) != want {
				t.Errorf("%T %q: %v", o, word, got)
			}
		}
	}
}
