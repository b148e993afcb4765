package pods

import (
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/apis/batch"
	api "k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/resource"
	replicasetstore "k8s.io/kubernetes/pkg/registry/apps/replicaset/storage"
	jobstore "k8s.io/kubernetes/pkg/registry/batch/job/storage"
	claimstore "k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim/storage"
	podstore "k8s.io/kubernetes/pkg/registry/core/pod/storage"
	devicestore "k8s.io/kubernetes/pkg/registry/resource/resourceclaim/storage"

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
				storages[name] = &jobs{upstreamJobs{r}, siteWrites{r, siteObjects{
					sites: b.Sites, objects: r, kind: batch.Resource("jobs"), resource: exchange.Jobs}}}
			case *replicasetstore.REST:
				storages[name] = &replicaSets{r, siteWrites{r, siteObjects{
					sites: b.Sites, objects: r, kind: apps.Resource("replicasets"), resource: exchange.ReplicaSets}}}
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
	return &claims{r, siteWrites{r, claimsAt(r, sites)}}
}

func claimsAt(r *claimstore.REST, sites Sites) siteObjects {
	return siteObjects{
		sites: sites, objects: r, kind: api.Resource("persistentvolumeclaims"), resource: exchange.Claims,
	}
}

// Devices has sites carry out the deletion of claims of devices that were born there, and changes of
// their labels and annotations.
func Devices(r *devicestore.REST, sites Sites) rest.Storage {
	if sites == nil {
		return r
	}
	return &devices{r, siteWrites{r, siteObjects{
		sites: sites, objects: r, kind: resource.Resource("resourceclaims"), resource: exchange.Devices}}}
}

// The storages of mirrored kinds: upstream's, but for the writes, which a site carries out. Their
// writes are those of siteWrites because these are promoted from a lesser depth than upstream's.
type (
	// podWrites are Pods.
	podWrites struct {
		*podstore.REST
		siteWrites
	}

	// jobs are Jobs, of which a CronJob makes some at its site.
	jobs struct {
		upstreamJobs
		siteWrites
	}

	// upstreamJobs keeps the deletions that upstream defines for Jobs alone one step deeper.
	upstreamJobs struct{ *jobstore.REST }

	// replicaSets are ReplicaSets, which a Deployment makes at its site.
	replicaSets struct {
		*replicasetstore.REST
		siteWrites
	}

	// claims are claims, which templates of a workload make at its site.
	claims struct {
		*claimstore.REST
		siteWrites
	}

	// devices are claims of devices, which are made at a site of the templates that Pods name.
	devices struct {
		*devicestore.REST
		siteWrites
	}
)

var _ = []rest.StandardStorage{&podWrites{}, &jobs{}, &replicaSets{}, &claims{}, &devices{}}
