package admission

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/apis/batch"
	api "k8s.io/kubernetes/pkg/apis/core"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/metadata"
)

// template is the metadata that a workload gives what is made of it.
type template struct {
	// Path is the field that has it; of a list it names the element.
	Path string
	// Pods is true for the template of pods.
	Pods bool
	*metav1.ObjectMeta
}

// templatesOf are the templates of an object: of its pods, its Jobs and its claims.
func templatesOf(o any) []template {
	const pods = "spec.template"
	switch o := o.(type) {
	case *apps.Deployment:
		return []template{{pods, true, &o.Spec.Template.ObjectMeta}}
	case *apps.StatefulSet:
		all := []template{{pods, true, &o.Spec.Template.ObjectMeta}}
		for i := range o.Spec.VolumeClaimTemplates {
			claim := &o.Spec.VolumeClaimTemplates[i]
			all = append(all, template{"spec.volumeClaimTemplates[" + claim.Name + "]", false, &claim.ObjectMeta})
		}
		return all
	case *apps.DaemonSet:
		return []template{{pods, true, &o.Spec.Template.ObjectMeta}}
	case *apps.ReplicaSet:
		return []template{{pods, true, &o.Spec.Template.ObjectMeta}}
	case *api.ReplicationController:
		if o.Spec.Template != nil {
			return []template{{pods, true, &o.Spec.Template.ObjectMeta}}
		}
	case *api.PodTemplate:
		return []template{{"template", true, &o.Template.ObjectMeta}}
	case *batch.Job:
		return []template{{pods, true, &o.Spec.Template.ObjectMeta}}
	case *batch.CronJob:
		return []template{
			{"spec.jobTemplate", false, &o.Spec.JobTemplate.ObjectMeta},
			{"spec.jobTemplate.spec.template", true, &o.Spec.JobTemplate.Spec.Template.ObjectMeta},
		}
	}
	return nil
}

// leaveOutOfTemplates takes the annotations that only the center writes out of the templates of an
// object. Operators copy the annotations of a custom resource to the pods that they make of it: with
// each decision about the custom resource these pods would be made anew. What a template has already
// stays as it is, because its pods would be made anew without it.
func leaveOutOfTemplates(ctx context.Context, o, old any) {
	var before []template
	for _, now := range templatesOf(o) {
		for _, name := range append(v1alpha1.CenterAnnotations(), v1alpha1.AnnotationReportedFrom) {
			is, has := now.Annotations[name]
			if !has {
				continue
			}
			if before == nil {
				before = templatesOf(old)
			}
			was, had := annotationAt(before, now.Path, name)
			if !had || is != was {
				leaveOut(ctx, now, now.Path+".", name, was, had)
			}
		}
	}
}

// annotationAt is an annotation of the template at a path.
func annotationAt(all []template, path, name string) (value string, has bool) {
	for _, one := range all {
		if one.Path == path {
			return metadata.Annotation(one, name)
		}
	}
	return "", false
}
