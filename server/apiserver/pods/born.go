package pods

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/apis/batch"
	api "k8s.io/kubernetes/pkg/apis/core"
	replicasetstore "k8s.io/kubernetes/pkg/registry/apps/replicaset/storage"
	jobstore "k8s.io/kubernetes/pkg/registry/batch/job/storage"
	claimstore "k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim/storage"

	"skerry.dev/skerry/tunnel/exchange"
)

// Group makes the REST storages of one API group.
type Group interface {
	GroupName() string
	NewRESTStorage(
		serverstorage.APIResourceConfigSource,
		generic.RESTOptionsGetter,
	) (genericapiserver.APIGroupInfo, error)
}

// Born has sites carry out the deletion of Jobs and ReplicaSets of a group that were born there,
// and changes of their labels and annotations. Without Sites it changes nothing.
type Born struct {
	Group
	Sites Sites
}

// NewRESTStorage implements Group.
func (b Born) NewRESTStorage(
	rc serverstorage.APIResourceConfigSource,
	og generic.RESTOptionsGetter,
) (genericapiserver.APIGroupInfo, error) {
	info, err := b.Group.NewRESTStorage(rc, og)
	if b.Sites == nil {
		return info, err
	}
	for _, storages := range info.VersionedResourcesStorageMap {
		for name, s := range storages {
			switch r := s.(type) {
			case *jobstore.REST:
				storages[name] = &jobs{r, siteObjects{
					sites: b.Sites, objects: r, kind: batch.Resource("jobs"), resource: exchange.Jobs}}
			case *replicasetstore.REST:
				storages[name] = &replicaSets{r, siteObjects{
					sites: b.Sites, objects: r, kind: apps.Resource("replicasets"), resource: exchange.ReplicaSets}}
			}
		}
	}
	return info, err
}

// Claims has sites carry out the deletion of claims that were born there, and changes of their
// labels and annotations.
func Claims(r *claimstore.REST, sites Sites) rest.Storage {
	if sites == nil {
		return r
	}
	return &claims{r, siteObjects{
		sites: sites, objects: r, kind: api.Resource("persistentvolumeclaims"), resource: exchange.Claims}}
}

// jobs are Jobs, of which a CronJob makes some at its site.
type jobs struct {
	*jobstore.REST
	at siteObjects
}

// Delete implements rest.GracefulDeleter.
func (s *jobs) Delete(
	ctx context.Context,
	name string,
	validate rest.ValidateObjectFunc,
	o *metav1.DeleteOptions,
) (runtime.Object, bool, error) {
	return s.at.delete(ctx, s.REST, name, validate, o)
}

// DeleteCollection implements rest.CollectionDeleter.
func (s *jobs) DeleteCollection(
	ctx context.Context,
	validate rest.ValidateObjectFunc,
	o *metav1.DeleteOptions,
	which *internalversion.ListOptions,
) (runtime.Object, error) {
	return s.at.deleteCollection(ctx, s.REST, validate, o, which)
}

// Update implements rest.Updater.
func (s *jobs) Update(
	ctx context.Context,
	name string,
	info rest.UpdatedObjectInfo,
	create rest.ValidateObjectFunc,
	validate rest.ValidateObjectUpdateFunc,
	forceAllowCreate bool,
	o *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	return s.at.update(ctx, s.REST, name, info, create, validate, forceAllowCreate, o)
}

// replicaSets are ReplicaSets, which a Deployment makes at its site.
type replicaSets struct {
	*replicasetstore.REST
	at siteObjects
}

// Delete implements rest.GracefulDeleter.
func (s *replicaSets) Delete(
	ctx context.Context,
	name string,
	validate rest.ValidateObjectFunc,
	o *metav1.DeleteOptions,
) (runtime.Object, bool, error) {
	return s.at.delete(ctx, s.REST, name, validate, o)
}

// DeleteCollection implements rest.CollectionDeleter.
func (s *replicaSets) DeleteCollection(
	ctx context.Context,
	validate rest.ValidateObjectFunc,
	o *metav1.DeleteOptions,
	which *internalversion.ListOptions,
) (runtime.Object, error) {
	return s.at.deleteCollection(ctx, s.REST, validate, o, which)
}

// Update implements rest.Updater.
func (s *replicaSets) Update(
	ctx context.Context,
	name string,
	info rest.UpdatedObjectInfo,
	create rest.ValidateObjectFunc,
	validate rest.ValidateObjectUpdateFunc,
	forceAllowCreate bool,
	o *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	return s.at.update(ctx, s.REST, name, info, create, validate, forceAllowCreate, o)
}

// claims are claims, which templates of a workload make at its site.
type claims struct {
	*claimstore.REST
	at siteObjects
}

// Delete implements rest.GracefulDeleter.
func (s *claims) Delete(
	ctx context.Context,
	name string,
	validate rest.ValidateObjectFunc,
	o *metav1.DeleteOptions,
) (runtime.Object, bool, error) {
	return s.at.delete(ctx, s.REST, name, validate, o)
}

// DeleteCollection implements rest.CollectionDeleter.
func (s *claims) DeleteCollection(
	ctx context.Context,
	validate rest.ValidateObjectFunc,
	o *metav1.DeleteOptions,
	which *internalversion.ListOptions,
) (runtime.Object, error) {
	return s.at.deleteCollection(ctx, s.REST, validate, o, which)
}

// Update implements rest.Updater.
func (s *claims) Update(
	ctx context.Context,
	name string,
	info rest.UpdatedObjectInfo,
	create rest.ValidateObjectFunc,
	validate rest.ValidateObjectUpdateFunc,
	forceAllowCreate bool,
	o *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	return s.at.update(ctx, s.REST, name, info, create, validate, forceAllowCreate, o)
}
