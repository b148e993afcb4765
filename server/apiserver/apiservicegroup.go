package apiserver

import (
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/install"
	apiservicestore "k8s.io/kube-aggregator/pkg/registry/apiservice/etcd"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"skerry.dev/skerry/server/apiserver/kinds"
)

func init() { install.Install(legacyscheme.Scheme) }

// apiServiceGroup is the group apiregistration.k8s.io. APIServices of a space are stored and no
// more: discovery of the space does not have their groups, and nothing calls their Services.
type apiServiceGroup struct{}

func (apiServiceGroup) GroupName() string { return apiregistration.GroupName }

func (apiServiceGroup) NewRESTStorage(
	_ serverstorage.APIResourceConfigSource,
	og generic.RESTOptionsGetter,
) (genericapiserver.APIGroupInfo, error) {
	info := genericapiserver.NewDefaultAPIGroupInfo(
		apiregistration.GroupName, legacyscheme.Scheme, legacyscheme.ParameterCodec, legacyscheme.Codecs)
	services := apiservicestore.NewREST(legacyscheme.Scheme, og)
	kinds.StoreAPIServices(services)
	info.VersionedResourcesStorageMap["v1"] = map[string]rest.Storage{
		"apiservices":        services,
		"apiservices/status": apiservicestore.NewStatusREST(legacyscheme.Scheme, services),
	}
	return info, nil
}
