package metadata

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/apis/batch"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// uidForm is what a UID may be; Kubernetes makes UUIDs.
var uidForm = regexp.MustCompile(`^[0-9a-zA-Z][-0-9a-zA-Z]{0,62}$`)

// ParseIdentity reads the identity of an exported object. It checks the form of the UID, and that a
// time of creation is there.
func ParseIdentity(text string) (id v1alpha1.Identity, err error) {
	if err := json.Unmarshal([]byte(text), &id); err != nil {
		return id, fmt.Errorf("not an identity: %w", err)
	}
	if !uidForm.MatchString(id.UID) || id.CreationTimestamp.IsZero() || id.Generation < 0 {
		return id, errors.New("uid, creationTimestamp and generation are needed")
	}
	return id, nil
}

// Import gives a new object the identity that its annotation names, and takes the annotation off.
// It leaves Spaces and objects without the annotation as they are.
func Import(obj runtime.Object) error {
	o := Of(obj)
	text, has := Annotation(o, v1alpha1.AnnotationImport)
	if !has || obj.GetObjectKind().GroupVersionKind().Kind == "Space" {
		return nil
	}
	id, err := ParseIdentity(text)
	if err != nil {
		return err
	}
	notes := o.GetAnnotations()
	delete(notes, v1alpha1.AnnotationImport)
	if len(notes) == 0 {
		notes = nil
	}
	o.SetAnnotations(notes)
	o.SetUID(types.UID(id.UID))
	o.SetCreationTimestamp(metav1.NewTime(id.CreationTimestamp.Time))
	if id.ManagedFields != nil {
		o.SetManagedFields(id.ManagedFields)
	}
	if job, ok := obj.(*batch.Job); ok {
		selectOwn(job)
	}
	if id.Generation > 0 && o.GetGeneration() > 0 {
		o.SetGeneration(id.Generation)
	}
	return nil
}

// selectOwn makes a Job select its Pods by the UID that it has: upstream has written the one into
// it that this request was to give it.
func selectOwn(job *batch.Job) {
	if job.Spec.ManualSelector != nil && *job.Spec.ManualSelector || job.Spec.Selector == nil {
		return
	}
	for _, labels := range []map[string]string{job.Spec.Selector.MatchLabels, job.Spec.Template.Labels} {
		for _, name := range []string{batch.ControllerUidLabel, batch.LegacyControllerUidLabel} {
			if _, has := labels[name]; has {
				labels[name] = string(job.UID)
			}
		}
	}
}
