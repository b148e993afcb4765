package apiserver

import (
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	endpointsstore "k8s.io/kubernetes/pkg/registry/core/endpoint/storage"
	limitrangestore "k8s.io/kubernetes/pkg/registry/core/limitrange/storage"
	pvstore "k8s.io/kubernetes/pkg/registry/core/persistentvolume/storage"
	pvcstore "k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim/storage"
	podreg "k8s.io/kubernetes/pkg/registry/core/pod"
	podstore "k8s.io/kubernetes/pkg/registry/core/pod/storage"
	podtemplatestore "k8s.io/kubernetes/pkg/registry/core/podtemplate/storage"
	rcstore "k8s.io/kubernetes/pkg/registry/core/replicationcontroller/storage"
	corerest "k8s.io/kubernetes/pkg/registry/core/rest"

	"skerry.dev/skerry/server/apiserver/authn"
	"skerry.dev/skerry/server/apiserver/kinds"
	"skerry.dev/skerry/server/apiserver/pods"
	"skerry.dev/skerry/store"
)

// coreGroup is the core group without what needs nodes: upstream's generic part (namespaces,
// configmaps, secrets, service accounts, events) plus the kinds that are placed.
type coreGroup struct {
	generic corerest.GenericConfig
	authz   authorizer.Authorizer
	sites   pods.Sites
	named   pods.Endings
	// departed says where a Pod has gone that is not in its space.
	departed func(store.Key) string
}

func (g *coreGroup) GroupName() string { return g.generic.GroupName() }

func (g *coreGroup) NewRESTStorage(
	rc serverstorage.APIResourceConfigSource,
	og generic.RESTOptionsGetter,
) (genericapiserver.APIGroupInfo, error) {
	info, err := g.generic.NewRESTStorage(rc, og)
	if err != nil {
		return info, err
	}
	m := info.VersionedResourcesStorageMap["v1"]
	if err := authn.LimitTokens(m); err != nil {
		return info, err
	}
	for _, add := range []func(map[string]rest.Storage, generic.RESTOptionsGetter) error{g.workloads,
		kinds.AddServices, addEndpoints, g.volumes, addLimitRanges} {
		if err := add(m, og); err != nil {
			return info, err
		}
	}
	return info, nil
}

func (g *coreGroup) workloads(m map[string]rest.Storage, og generic.RESTOptionsGetter) error {
	podStorage, err := podstore.NewStorage(og, pods.NoKubelets{}, nil, nil, g.authz)
	if err != nil {
		return err
	}
	kinds.MirrorPods(podStorage)
	m["pods"], m["pods/status"] = podStorage.Pod, kinds.NewReportedStatus(podStorage.Pod.Store, podreg.StatusStrategy)
	pods.Add(m, podStorage, g.sites, g.named, g.departed)
	templates, err := podtemplatestore.NewREST(og)
	if err != nil {
		return err
	}
	m["podtemplates"] = templates
	rcs, err := rcstore.NewStorage(og)
	if err != nil {
		return err
	}
	m["replicationcontrollers"], m["replicationcontrollers/status"] = rcs.Controller, rcs.Status
	m["replicationcontrollers/scale"] = rcs.Scale
	return nil
}

// addEndpoints serves what users write for Services without a selector, and what the center makes of
// the EndpointSlices that targets report of the others.
func addEndpoints(m map[string]rest.Storage, og generic.RESTOptionsGetter) error {
	endpoints, err := endpointsstore.NewREST(og)
	if err != nil {
		return err
	}
	kinds.MirrorEndpoints(endpoints)
	m["endpoints"] = endpoints
	return nil
}

func addLimitRanges(m map[string]rest.Storage, og generic.RESTOptionsGetter) error {
	ranges, err := limitrangestore.NewREST(og)
	if err != nil {
		return err
	}
	m["limitranges"] = ranges
	return nil
}

func (g *coreGroup) volumes(m map[string]rest.Storage, og generic.RESTOptionsGetter) error {
	pv, pvStatus, err := pvstore.NewREST(og)
	if err != nil {
		return err
	}
	pvc, pvcStatus, err := pvcstore.NewREST(og)
	if err != nil {
		return err
	}
	pvc.UpdateStrategy = kinds.SettledClaim{RESTUpdateStrategy: pvc.UpdateStrategy}
	kinds.MirrorInto(pvc.Store)
	kinds.ClaimEnds(pvc.Store)
	m["persistentvolumes"], m["persistentvolumes/status"] = pv, pvStatus
	m["persistentvolumeclaims"], m["persistentvolumeclaims/status"] = pods.Claims(pvc, g.sites), pvcStatus
	return nil
}
