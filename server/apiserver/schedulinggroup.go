package apiserver

import (
	"fmt"

	"k8s.io/apiserver/pkg/registry/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/kubernetes/pkg/apis/scheduling"
	schedulingv1 "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	"k8s.io/kubernetes/pkg/registry/scheduling/priorityclass"
	schedulingrest "k8s.io/kubernetes/pkg/registry/scheduling/rest"

	"skerry.dev/skerry/server/apiserver/wellknown"
)

// schedulingGroup is the group scheduling.k8s.io. A space has the PriorityClasses that each cluster has. Package
// placement sends no class of their names: they are at all sites.
type schedulingGroup struct {
	born wellknown.Birth
}

func (schedulingGroup) GroupName() string { return scheduling.GroupName }

func (g schedulingGroup) NewRESTStorage(
	config serverstorage.APIResourceConfigSource,
	og generic.RESTOptionsGetter,
) (genericapiserver.APIGroupInfo, error) {
	info, err := schedulingrest.RESTStorageProvider{}.NewRESTStorage(config, og)
	if err != nil {
		return info, err
	}
	storages := info.VersionedResourcesStorageMap["v1"]
	stored, ok := storages["priorityclasses"].(wellknown.Stored)
	if !ok {
		return info, fmt.Errorf("the storage of priorityclasses is a %T", storages["priorityclasses"])
	}
	known := map[string]wellknown.Object{}
	for _, class := range schedulingv1.SystemPriorityClasses() {
		class.Generation = 1
		schedulingv1.SetDefaults_PriorityClass(class)
		internal := &scheduling.PriorityClass{}
		if err := schedulingv1.Convert_v1_PriorityClass_To_scheduling_PriorityClass(class, internal, nil); err != nil {
			return info, err
		}
		known[class.Name] = internal
	}
	storages["priorityclasses"] = &wellknown.Storage{
		Stored: stored, Plain: stored, Strategy: priorityclass.Strategy,
		Resource: scheduling.Resource("priorityclasses"), Known: known, Born: g.born,
	}
	return info, nil
}
