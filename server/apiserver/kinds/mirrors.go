package kinds

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	revisionstore "k8s.io/kubernetes/pkg/registry/apps/controllerrevision/storage"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	daemonsetstore "k8s.io/kubernetes/pkg/registry/apps/daemonset/storage"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	deploymentstore "k8s.io/kubernetes/pkg/registry/apps/deployment/storage"
	replicasetstore "k8s.io/kubernetes/pkg/registry/apps/replicaset/storage"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	statefulsetstore "k8s.io/kubernetes/pkg/registry/apps/statefulset/storage"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	jobstore "k8s.io/kubernetes/pkg/registry/batch/job/storage"
	endpointsstore "k8s.io/kubernetes/pkg/registry/core/endpoint/storage"
	slicestore "k8s.io/kubernetes/pkg/registry/discovery/endpointslice/storage"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/request"
)

// Group makes the REST storages of one API group.
type Group interface {
	GroupName() string
	NewRESTStorage(
		serverstorage.APIResourceConfigSource,
		generic.RESTOptionsGetter,
	) (genericapiserver.APIGroupInfo, error)
}

// Mirroring lets the center write the kinds of a group that targets report beside what is placed:
// as they are, with their status, in one write. What the rules of creation would fill in (the
// selector of a Job, say) has been filled in at the target.
type Mirroring struct{ Group }

// NewRESTStorage implements Group.
func (m Mirroring) NewRESTStorage(
	rc serverstorage.APIResourceConfigSource,
	og generic.RESTOptionsGetter,
) (genericapiserver.APIGroupInfo, error) {
	info, err := m.Group.NewRESTStorage(rc, og)
	for _, storages := range info.VersionedResourcesStorageMap {
		for name, s := range storages {
			switch r := s.(type) {
			case *deploymentstore.REST:
				storages[name+"/status"] = NewReportedStatus(r.Store, deployment.StatusStrategy)
			case *daemonsetstore.REST:
				storages[name+"/status"] = NewReportedStatus(r.Store, daemonset.StatusStrategy)
			case *statefulsetstore.REST:
				storages[name+"/status"] = NewReportedStatus(r.Store, statefulset.StatusStrategy)
			case *replicasetstore.REST:
				MirrorInto(r.Store)
			case *jobstore.REST:
				MirrorInto(r.Store)
				storages[name+"/status"] = NewReportedStatus(r.Store, job.StatusStrategy)
			case *revisionstore.REST:
				MirrorInto(r.Store)
			case *slicestore.REST:
				MirrorInto(r.Store)
			}
		}
	}
	return info, err
}

// MirrorEndpoints does the same for Endpoints, which are in the core group.
func MirrorEndpoints(r *endpointsstore.REST) { MirrorInto(r.Store) }

// MirrorInto lets the center write objects of a kind that targets report.
func MirrorInto(s *genericregistry.Store) {
	s.CreateStrategy = mirrorCreate{s.CreateStrategy}
	s.UpdateStrategy = mirrorUpdate{s.UpdateStrategy}
}

// EndsAtSite lets the center show that an object of a kind is being deleted at its target, for
// which its controllers there wait. A kind of Kubernetes without a grace period has none here either:
// every other deletion is as before.
func EndsAtSite(s *genericregistry.Store) { s.DeleteStrategy = mirrorDelete{s.DeleteStrategy} }

type mirrorDelete struct{ rest.RESTDeleteStrategy }

// CheckGracefulDelete implements rest.RESTGracefulDeleteStrategy.
func (mirrorDelete) CheckGracefulDelete(ctx context.Context, obj runtime.Object, o *metav1.DeleteOptions) bool {
	return metadata.IsReported(ctx, obj) && o.GracePeriodSeconds != nil
}

type mirrorCreate struct{ rest.RESTCreateStrategy }

func (s mirrorCreate) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	if metadata.IsReported(ctx, obj) {
		bornAt(metadata.Of(obj))
	} else {
		s.RESTCreateStrategy.PrepareForCreate(ctx, obj)
	}
}

func (s mirrorCreate) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	if metadata.IsReported(ctx, obj) {
		return nil
	}
	return s.RESTCreateStrategy.Validate(ctx, obj)
}

type mirrorUpdate struct{ rest.RESTUpdateStrategy }

func (s mirrorUpdate) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	if metadata.IsReported(ctx, obj) {
		forgetBirth(metadata.Of(obj))
	} else {
		s.RESTUpdateStrategy.PrepareForUpdate(ctx, obj, old)
	}
}

func (s mirrorUpdate) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	if metadata.IsReported(ctx, obj) {
		return nil
	}
	if _, mirrored := metadata.Annotation(metadata.Of(old), v1alpha1.AnnotationReportedFrom); mirrored &&
		!request.FromCenter(ctx) {
		// The scale subresource comes this way: admission sees a Scale, which has no annotations.
		return field.ErrorList{field.Forbidden(field.NewPath("spec"), metadata.ErrReported(metadata.Of(old)).Error())}
	}
	return s.RESTUpdateStrategy.ValidateUpdate(ctx, obj, old)
}

// bornAt gives a mirror the age of what it shows. Upstream has put the time of this request into
// metadata.creationTimestamp by now, so the real one comes in an annotation, which is not stored.
func bornAt(o metav1.Object) {
	if t, err := time.Parse(time.RFC3339, o.GetAnnotations()[v1alpha1.AnnotationReportedCreation]); err == nil {
		o.SetCreationTimestamp(metav1.NewTime(t))
	}
	forgetBirth(o)
}

func forgetBirth(o metav1.Object) {
	notes := o.GetAnnotations()
	delete(notes, v1alpha1.AnnotationReportedCreation)
	o.SetAnnotations(notes)
}
