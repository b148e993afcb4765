package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/kubernetes/pkg/apis/batch"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// imports is the admission plugin of the annotation that makes a new object one that was exported before: only an admin of the center may
// say so, since an owner is known by its UID. The storage takes the annotation off and does it.
type imports struct{}

// Handles implements admission.Interface.
func (imports) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Validate implements admission.ValidationInterface: it sees what all that changes objects has left.
func (imports) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetSubresource() != "" || isInner(ctx) && a.GetOperation() == admission.Update || isSpace(a) {
		return nil
	}
	text, has := annotation(object(a.GetObject()), v1alpha1.AnnotationImport)
	if !has {
		return nil
	}
	name := "metadata.annotations[" + v1alpha1.AnnotationImport + "]: "
	switch who := a.GetUserInfo(); {
	case a.GetOperation() == admission.Update:
		return admission.NewForbidden(a, errors.New(name+"an object that exists is who it is"))
	case !isInner(ctx) && (who == nil || !slices.Contains(who.GetGroups(), user.SystemPrivilegedGroup)):
		return admission.NewForbidden(a, errors.New(name+"only an admin of the center may import an object with its UID"))
	}
	if _, err := parseIdentity(text); err != nil {
		return admission.NewForbidden(a, fmt.Errorf("%s%w", name, err))
	}
	return nil
}

func isSpace(a admission.Attributes) bool {
	return a.GetResource().GroupResource() == v1alpha1.GroupVersion.WithResource("spaces").GroupResource()
}

// uidForm is what a UID may be; Kubernetes makes UUIDs.
var uidForm = regexp.MustCompile(`^[0-9a-zA-Z][-0-9a-zA-Z]{0,62}$`)

func parseIdentity(text string) (id v1alpha1.Identity, err error) {
	if err := json.Unmarshal([]byte(text), &id); err != nil {
		return id, fmt.Errorf("not an identity: %w", err)
	}
	if !uidForm.MatchString(id.UID) || id.CreationTimestamp.IsZero() || id.Generation < 0 {
		return id, errors.New("uid, creationTimestamp and generation are needed")
	}
	return id, nil
}

// becomeImported gives a new object the identity that came with it.
func becomeImported(obj runtime.Object) error {
	o := object(obj)
	text, has := annotation(o, v1alpha1.AnnotationImport)
	if !has || obj.GetObjectKind().GroupVersionKind().Kind == "Space" {
		return nil
	}
	id, err := parseIdentity(text)
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

// selectOwn makes a Job select its Pods by the UID that it has: upstream has written the one into it that this request was to give it.
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
