package admission

import (
	"context"
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/apis/batch"
	api "k8s.io/kubernetes/pkg/apis/core"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/request"
)

// workloads are one object of each kind that makes others, with notes in all of its templates.
func workloads(notes map[string]string) map[string]runtime.Object {
	meta := func() metav1.ObjectMeta { return metav1.ObjectMeta{Annotations: maps.Clone(notes)} }
	pods := func() api.PodTemplateSpec { return api.PodTemplateSpec{ObjectMeta: meta()} }
	replicated := pods()
	return map[string]runtime.Object{
		"deployments":            &apps.Deployment{Spec: apps.DeploymentSpec{Template: pods()}},
		"daemonsets":             &apps.DaemonSet{Spec: apps.DaemonSetSpec{Template: pods()}},
		"replicasets":            &apps.ReplicaSet{Spec: apps.ReplicaSetSpec{Template: pods()}},
		"replicationcontrollers": &api.ReplicationController{Spec: api.ReplicationControllerSpec{Template: &replicated}},
		"podtemplates":           &api.PodTemplate{Template: pods()},
		"jobs":                   &batch.Job{Spec: batch.JobSpec{Template: pods()}},
		"statefulsets": &apps.StatefulSet{Spec: apps.StatefulSetSpec{
			Template: pods(), VolumeClaimTemplates: []api.PersistentVolumeClaim{
				{ObjectMeta: metav1.ObjectMeta{Name: "data", Annotations: maps.Clone(notes)}}}}},
		"cronjobs": &batch.CronJob{Spec: batch.CronJobSpec{
			JobTemplate: batch.JobTemplateSpec{ObjectMeta: meta(), Spec: batch.JobSpec{Template: pods()}}}},
	}
}

// warnings counts what a request warns of.
type warnings int

func (w *warnings) AddWarning(string, string) { *w++ }

// An operator copies the annotations of a custom resource into the templates of what it makes. When
// the custom resource moves, the templates stay as they were: no pod is made anew, and no claim of a
// StatefulSet, which cannot change, is refused.
func TestTemplatesHaveNoWordOfTheCenter(t *testing.T) {
	copied := map[string]string{"mine": "1", v1alpha1.AnnotationTargets: "b", v1alpha1.AnnotationUnit: "N"}
	for name, c := range map[string]struct {
		old    map[string]string
		update bool
		center bool
		want   map[string]string
	}{
		"created":               {want: map[string]string{"mine": "1"}},
		"updated":               {update: true, old: map[string]string{"mine": "0"}, want: map[string]string{"mine": "1"}},
		"created by the center": {center: true, want: copied},
		"updated, and had it": {update: true, old: map[string]string{v1alpha1.AnnotationTargets: "a"},
			want: map[string]string{"mine": "1", v1alpha1.AnnotationTargets: "a"}},
	} {
		before := workloads(c.old)
		for resource, now := range workloads(copied) {
			var seen warnings
			ctx := warning.WithWarningRecorder(request.WithSpace(context.Background(), "shop"), &seen)
			if c.center {
				ctx = request.AsCenter(ctx)
			}
			operation, old := admission.Create, runtime.Object(nil)
			if c.update {
				operation, old = admission.Update, before[resource]
			}
			a := admission.NewAttributesRecord(now, old, schema.GroupVersionKind{}, "app", "one",
				schema.GroupVersionResource{Resource: resource}, "", operation, nil, false, nil)
			if err := (&Annotations{}).Admit(ctx, a, nil); err != nil {
				t.Errorf("%s, %s: %v", resource, name, err)
			}
			all := templatesOf(now)
			for _, one := range all {
				if !maps.Equal(one.Annotations, c.want) {
					t.Errorf("%s, %s: %s has %v, want %v", resource, name, one.Path, one.Annotations, c.want)
				}
			}
			if want := 2 * len(all); len(all) == 0 || !c.center && int(seen) != want {
				t.Errorf("%s, %s: %d templates and %d warnings, want %d", resource, name, len(all), seen, want)
			}
		}
	}
}
