package pods

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	api "k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/resource"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/tunnel/exchange"
)

// storage is upstream's storage of a kind, which keeps what is placed, and what the center writes.
type storage interface {
	rest.Lister
	rest.GracefulDeleter
	rest.CollectionDeleter
	rest.Updater
}

// siteWrites has sites carry out the writes of objects that were born there, and here those of all
// other objects.
type siteWrites struct {
	here storage
	siteObjects
}

// born reports whether this request is a user's, about an object that a target reported.
func born(ctx context.Context, obj runtime.Object) bool {
	_, mirrored := metadata.Annotation(metadata.Of(obj), v1alpha1.AnnotationReportedFrom)
	return mirrored && !request.FromCenter(ctx)
}

// Delete implements rest.GracefulDeleter. An object that was born at a site is deleted there. The
// mirror goes when the site reports that the object has gone. The center takes off mirrors itself, but
// for its garbage collector, which has them deleted as users do: it names the version that it has seen,
// and no time.
func (s siteWrites) Delete(
	ctx context.Context,
	name string,
	validate rest.ValidateObjectFunc,
	o *metav1.DeleteOptions,
) (runtime.Object, bool, error) {
	collected := o != nil && o.GracePeriodSeconds == nil &&
		o.Preconditions != nil && o.Preconditions.ResourceVersion != nil
	if request.FromCenter(ctx) && !collected {
		return s.here.Delete(ctx, name, validate, o)
	}
	obj, err := s.objects.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, unlessGone(err)
	}
	if _, mirrored := metadata.Annotation(metadata.Of(obj), v1alpha1.AnnotationReportedFrom); !mirrored {
		return s.here.Delete(ctx, name, validate, o)
	}
	if o == nil {
		o = &metav1.DeleteOptions{}
	}
	if err := s.stillThat(obj, o.Preconditions); err != nil {
		return nil, false, err
	}
	if err := s.leavesNothing(obj, o); err != nil {
		return nil, false, err
	}
	if err := validate(ctx, obj.DeepCopyObject()); err != nil {
		return nil, false, err
	}
	if err := s.end(ctx, obj, exchange.Delete, o); err != nil {
		return nil, false, err
	}
	if s.mayStay() && len(o.DryRun) == 0 {
		shown := s.shows(ctx, obj, func(now runtime.Object) bool {
			return metadata.Of(now).GetDeletionTimestamp() != nil
		})
		if shown != nil {
			return shown, false, nil
		}
	}
	return ending(obj, o), false, nil
}

// mayStay reports whether an object that is deleted is shown until it has gone: a Pod has a grace
// period, and a claim may be in use.
func (s siteObjects) mayStay() bool {
	return s.resource == "" || s.resource == exchange.Claims || s.resource == exchange.Devices
}

// leavesNothing refuses to leave behind at a site what an object owns: it would belong to nobody, and
// nobody could see it in the space, or end it.
func (s siteObjects) leavesNothing(obj runtime.Object, o *metav1.DeleteOptions) error {
	orphan := o.PropagationPolicy != nil && *o.PropagationPolicy == metav1.DeletePropagationOrphan
	//lint:ignore SA1019 old clients send it, and Kubernetes still does what it says
	old := o.OrphanDependents
	if !orphan && (old == nil || !*old) {
		return nil
	}
	var owns string
	switch x := obj.(type) {
	case *api.PersistentVolumeClaim, *resource.ResourceClaim:
		return nil
	case *api.Pod:
		switch {
		case slices.ContainsFunc(x.Spec.Volumes, func(v api.Volume) bool { return v.Ephemeral != nil }):
			owns = "the claims of its ephemeral volumes"
		case slices.ContainsFunc(x.Spec.ResourceClaims,
			func(c api.PodResourceClaim) bool { return c.ResourceClaimTemplateName != nil }):
			owns = "the claims of its devices"
		default:
			return nil
		}
	default:
		owns = "its Pods"
	}
	return apierrors.NewForbidden(s.kind, metadata.Of(obj).GetName(), fmt.Errorf(
		"it was born at a site, and --cascade=orphan would leave %s there to nobody, unseen in this space; "+
			"delete it with --cascade=background or foreground, or orphan what it belongs to", owns))
}

// ending is an object as its deletion leaves it until it has gone.
func ending(obj runtime.Object, o *metav1.DeleteOptions) runtime.Object {
	out := obj.DeepCopyObject()
	grace := o.GracePeriodSeconds
	if pod, ok := out.(*api.Pod); ok && grace == nil {
		grace = pod.Spec.TerminationGracePeriodSeconds
	}
	at := metav1.Now()
	if grace != nil {
		at = metav1.NewTime(at.Add(time.Duration(*grace) * time.Second))
	}
	metadata.Of(out).SetDeletionTimestamp(&at)
	metadata.Of(out).SetDeletionGracePeriodSeconds(grace)
	return out
}

// endings is how many objects of a collection are deleted side by side.
const endings = 8

// DeleteCollection implements rest.CollectionDeleter: it deletes each object of a list as Delete
// does. One that fails stops no other.
func (s siteWrites) DeleteCollection(
	ctx context.Context,
	validate rest.ValidateObjectFunc,
	o *metav1.DeleteOptions,
	which *internalversion.ListOptions,
) (runtime.Object, error) {
	if request.FromCenter(ctx) { // a Namespace goes: no site that is away holds it back
		if o == nil {
			o = &metav1.DeleteOptions{}
		}
		if o.GracePeriodSeconds == nil {
			now := int64(0)
			o.GracePeriodSeconds = &now
		}
		return s.here.DeleteCollection(ctx, validate, o, which)
	}
	list, err := s.here.List(ctx, which)
	if err != nil {
		return nil, err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, err
	}
	if o == nil {
		o = &metav1.DeleteOptions{}
	}
	names := make(chan string)
	failed := make([]error, endings)
	var running sync.WaitGroup
	for i := range endings {
		running.Go(func() {
			for name := range names {
				_, _, err := s.Delete(ctx, name, validate, o.DeepCopy())
				if err != nil && !apierrors.IsNotFound(err) && failed[i] == nil {
					failed[i] = err
				}
			}
		})
	}
	for _, item := range items {
		names <- metadata.Of(item).GetName()
	}
	close(names)
	running.Wait()
	for _, err := range failed {
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// stillThat compares an object with the preconditions of its deletion.
func (s siteObjects) stillThat(obj runtime.Object, on *metav1.Preconditions) error {
	o := metadata.Of(obj)
	if on == nil ||
		(on.UID == nil || *on.UID == o.GetUID()) &&
			(on.ResourceVersion == nil || *on.ResourceVersion == o.GetResourceVersion()) {
		return nil
	}
	return apierrors.NewConflict(s.kind, o.GetName(),
		errors.New("the UID or the resourceVersion in the precondition is not that of the object"))
}

// end has a site delete or evict an object.
func (s siteObjects) end(
	ctx context.Context,
	obj runtime.Object,
	v exchange.Verb,
	o *metav1.DeleteOptions,
) error {
	query := url.Values{}
	if o.GracePeriodSeconds != nil {
		query.Set("gracePeriodSeconds", strconv.FormatInt(max(0, *o.GracePeriodSeconds), 10))
	}
	if o.PropagationPolicy != nil {
		query.Set("propagationPolicy", string(*o.PropagationPolicy))
	}
	if len(o.DryRun) > 0 {
		query.Set("dryRun", metav1.DryRunAll)
	}
	return s.ask(ctx, obj, v, query, nil)
}

// ask has a site carry out a write, and returns its refusal.
func (s siteObjects) ask(
	ctx context.Context,
	obj runtime.Object,
	v exchange.Verb,
	query url.Values,
	body []byte,
) error {
	target, r, err := s.requestFor(ctx, obj, v, query)
	if err != nil {
		return retryLater(ctx, err)
	}
	r.Body = body
	resp, err := s.do(ctx, target, r)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// showTime is how long an answer waits for the site's report, so that who reads next reads what it
// wrote.
const showTime = 2 * time.Second

// shows waits until the mirror of an object shows a write, and returns it. Nil is a mirror that
// does not show it in time, or has gone.
func (s siteObjects) shows(
	ctx context.Context,
	obj runtime.Object,
	written func(runtime.Object) bool,
) runtime.Object {
	ctx, cancel := context.WithTimeout(ctx, showTime)
	defer cancel()
	uid, name := metadata.Of(obj).GetUID(), metadata.Of(obj).GetName()
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		now, err := s.objects.Get(ctx, name, &metav1.GetOptions{})
		switch {
		case err != nil, metadata.Of(now).GetUID() != uid:
			return nil
		case written(now):
			return now
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}
