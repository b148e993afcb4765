package pods

import (
	"context"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
	api "k8s.io/kubernetes/pkg/apis/core"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/tunnel/exchange"
)

// Update implements rest.Updater. Labels and annotations of an object that was born at a site are
// changed there, and how much a claim requests. The mirror shows them when the site has reported
// them. Finalizers are those of the mirror, and so are owners that only the space has. Everything
// else of such an object is refused.
func (s siteWrites) Update(
	ctx context.Context,
	name string,
	info rest.UpdatedObjectInfo,
	create rest.ValidateObjectFunc,
	validate rest.ValidateObjectUpdateFunc,
	forceAllowCreate bool,
	o *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	if request.FromCenter(ctx) {
		return s.here.Update(ctx, name, info, create, validate, forceAllowCreate, o)
	}
	old, err := s.objects.Get(ctx, name, &metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, false, unlessGone(err)
	}
	if err != nil || !born(ctx, old) {
		return s.here.Update(ctx, name, info, create, validate, forceAllowCreate, o)
	}
	obj, err := s.wanted(ctx, info, old)
	if err != nil {
		return nil, false, err
	}
	if appliedBy(o.FieldManager, obj) {
		warning.AddWarning(ctx, "", "it was born at a site, and nobody keeps which fields were applied: what you leave out "+
			"of the next server-side apply stays; take a label or an annotation off by kubectl label or annotate NAME-")
	}
	if err := s.metadataOnly(obj, old); err != nil {
		return nil, false, err
	}
	if err := validate(ctx, obj.DeepCopyObject(), old.DeepCopyObject()); err != nil {
		return nil, false, err
	}
	change := &exchange.Changes{
		Labels:      changed(metadata.Of(old).GetLabels(), metadata.Of(obj).GetLabels()),
		Annotations: changed(metadata.Of(old).GetAnnotations(), metadata.Of(obj).GetAnnotations()),
		Storage:     resized(old, obj),
	}
	now := old
	if len(change.Labels)+len(change.Annotations) > 0 || change.Storage != "" {
		if now, err = s.change(ctx, old, obj, change, o.DryRun); err != nil {
			return nil, false, err
		}
	}
	if sameOwn(old, obj) {
		return now, false, nil
	}
	return s.setOwn(ctx, old, obj, o)
}

// wanted is an object as the request wants it, with the annotations of skerry.dev that it has.
func (s siteObjects) wanted(
	ctx context.Context,
	info rest.UpdatedObjectInfo,
	old runtime.Object,
) (runtime.Object, error) {
	if err := s.stillThat(old, info.Preconditions()); err != nil {
		return nil, err
	}
	obj, err := info.UpdatedObject(ctx, old.DeepCopyObject())
	if err != nil {
		return nil, err
	}
	if v := metadata.Of(obj).GetResourceVersion(); v != "" &&
		v != metadata.Of(old).GetResourceVersion() {
		return nil, apierrors.NewConflict(
			s.kind, metadata.Of(old).GetName(), fmt.Errorf(genericregistry.OptimisticLockErrorMsg))
	}
	keepSkerryAnnotations(metadata.Of(obj), metadata.Of(old))
	return obj, nil
}

// change has a site carry out changes of an object, which was old and is to be as obj, and returns
// it as the space shows it then. Where it is, old alone says.
func (s siteObjects) change(
	ctx context.Context,
	old, obj runtime.Object,
	c *exchange.Changes,
	dryRun []string,
) (runtime.Object, error) {
	body, err := exchange.EncodeChange(c)
	if err != nil {
		return nil, err
	}
	if len(body) > exchange.MaxChange {
		return nil, apierrors.NewRequestEntityTooLargeError(
			fmt.Sprintf(
				"labels and annotations that change may take %d bytes together",
				exchange.MaxChange,
			),
		)
	}
	query := url.Values{}
	if len(dryRun) > 0 {
		query.Set("dryRun", metav1.DryRunAll)
	}
	if err := s.ask(ctx, old, exchange.Change, query, body); err != nil || len(dryRun) > 0 {
		return obj, err
	}
	if shown := s.shows(ctx, obj, func(now runtime.Object) bool { return shows(c, now) }); shown != nil {
		return shown, nil
	}
	return obj, nil
}

// shows reports whether an object has what was to be changed.
func shows(c *exchange.Changes, obj runtime.Object) bool {
	now := metadata.Of(obj)
	if size := requested(obj); c.Storage != "" && c.Storage != size.String() {
		return false
	}
	if pod, ok := obj.(*api.Pod); ok {
		for _, want := range c.Conditions {
			if !slices.ContainsFunc(pod.Status.Conditions, func(has api.PodCondition) bool {
				return string(has.Type) == want.Type && string(has.Status) == want.Status &&
					has.Reason == want.Reason && has.Message == want.Message
			}) {
				return false
			}
		}
	}
	for _, part := range []struct {
		want map[string]*string
		have map[string]string
	}{{c.Labels, now.GetLabels()}, {c.Annotations, now.GetAnnotations()}} {
		for name, value := range part.want {
			if v, has := part.have[name]; has != (value != nil) || has && v != *value {
				return false
			}
		}
	}
	return true
}

// changed is what has to be changed in old for it to be now. Nil takes a name off.
func changed(old, now map[string]string) map[string]*string {
	out := map[string]*string{}
	for name := range old {
		if _, has := now[name]; !has {
			out[name] = nil
		}
	}
	for name, value := range now {
		if was, had := old[name]; !had || was != value {
			out[name] = &value
		}
	}
	return out
}

// keepSkerryAnnotations restores the annotations of skerry.dev that the request leaves out. A
// client that sends a file without them does not mean to remove them.
func keepSkerryAnnotations(obj, old metav1.Object) {
	for name, value := range old.GetAnnotations() {
		if _, has := obj.GetAnnotations()[name]; !has && exchange.IsSkerryKey(name) {
			metadata.Annotate(obj, name, value)
		}
	}
}

// appliedBy reports whether a request was a server-side apply. A mirror has no other entry of one.
func appliedBy(manager string, obj runtime.Object) bool {
	return slices.ContainsFunc(metadata.Of(obj).GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Operation == metav1.ManagedFieldsOperationApply && e.Manager == manager
	})
}

// metadataOnly refuses whatever differs beside labels, annotations and finalizers, by its field.
func (s siteObjects) metadataOnly(obj, old runtime.Object) error {
	now, was := metadata.Of(obj), metadata.Of(old)
	now.SetResourceVersion(was.GetResourceVersion())
	now.SetManagedFields(was.GetManagedFields())
	now.SetGeneration(was.GetGeneration())
	if status := statusOf(obj); status.IsValid() {
		status.Set(statusOf(old.DeepCopyObject()))
	}
	at := field.NewPath("metadata")
	errs := validation.ValidateObjectMetaAccessorUpdate(now, was, at)
	for part, pair := range map[string][2]map[string]string{
		"labels": {now.GetLabels(), was.GetLabels()}, "annotations": {now.GetAnnotations(), was.GetAnnotations()},
	} {
		for name := range changed(pair[1], pair[0]) {
			if exchange.IsSkerryKey(name) {
				errs = append(
					errs,
					field.Forbidden(at.Child(part).Key(name), "only the center writes this"),
				)
			}
		}
	}
	rest := obj.DeepCopyObject()
	metadata.Of(rest).SetLabels(was.GetLabels())
	metadata.Of(rest).SetAnnotations(was.GetAnnotations())
	metadata.Of(rest).SetFinalizers(was.GetFinalizers())
	metadata.Of(rest).SetOwnerReferences(was.GetOwnerReferences())
	errs = append(errs, newOwners(now, was, at.Child("ownerReferences"))...)
	if claim, ok := rest.(*api.PersistentVolumeClaim); ok {
		claim.Spec.Resources.Requests = old.(*api.PersistentVolumeClaim).Spec.Resources.Requests
		errs = append(errs, newRequests(obj.(*api.PersistentVolumeClaim), old.(*api.PersistentVolumeClaim))...)
	}
	errs = append(errs, newFinalizers(now, was, at.Child("finalizers"))...)
	if len(errs) == 0 && !equality.Semantic.DeepEqual(rest, old) {
		errs = append(errs, field.Forbidden(differs(rest, old), s.why(was)))
	}
	if len(errs) == 0 {
		return nil
	}
	kind := reflect.TypeOf(old).Elem().Name()
	return apierrors.NewInvalid(
		schema.GroupKind{Group: s.kind.Group, Kind: kind},
		was.GetName(),
		errs,
	)
}

// why says who decides about the rest of an object.
func (s siteObjects) why(o metav1.Object) string {
	text := fmt.Sprintf(
		"it was born at SyncTarget %q, where ",
		o.GetAnnotations()[v1alpha1.AnnotationReportedFrom],
	)
	if owner := metav1.GetControllerOf(o); owner != nil {
		text += fmt.Sprintf(
			"%s %s says what it is: change that, or what it belongs to",
			owner.Kind,
			owner.Name,
		)
	} else {
		text += "a template of its workload says what it is"
	}
	if s.resource == exchange.Claims {
		return text + "; of the claim itself, labels, annotations, finalizers, " +
			"owners and spec.resources.requests.storage may be changed"
	}
	return text + "; of the object itself, labels, annotations, finalizers and owners may be changed"
}

// differs is the first field in which two objects differ.
func differs(a, b runtime.Object) *field.Path {
	x, y := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range x.NumField() {
		name := x.Type().Field(i).Name
		if equality.Semantic.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			continue
		}
		if name != "ObjectMeta" {
			return field.NewPath(strings.ToLower(name[:1]) + name[1:])
		}
		return field.NewPath("metadata")
	}
	return field.NewPath("metadata")
}

// statusOf is the field Status of a kind, invalid where there is none.
func statusOf(o runtime.Object) reflect.Value {
	return reflect.ValueOf(o).Elem().FieldByName("Status")
}
