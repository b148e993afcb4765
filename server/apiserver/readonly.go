package apiserver

import (
	"fmt"
	"strings"

	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"

	"skerry.dev/skerry/server/apiserver/kinds"
)

// unwritten is a group of which some kinds are only read: what nodes and allocators of a cluster write. A space has
// none of them. Autoscalers, exporters and storage systems watch them and would wait for ever for a kind that is not
// served.
type unwritten struct {
	kinds.Group
	resources []string
}

func (g unwritten) NewRESTStorage(
	config serverstorage.APIResourceConfigSource,
	og generic.RESTOptionsGetter,
) (genericapiserver.APIGroupInfo, error) {
	info, err := g.Group.NewRESTStorage(config, og)
	if err != nil {
		return info, err
	}
	storages := info.VersionedResourcesStorageMap["v1"]
	for _, name := range g.resources {
		stored, ok := storages[name].(readStorage)
		if !ok {
			return info, fmt.Errorf("the storage of %s is a %T", name, storages[name])
		}
		for at := range storages {
			if strings.HasPrefix(at, name+"/") {
				delete(storages, at)
			}
		}
		storages[name] = readOnly{stored}
	}
	return info, nil
}

// readStorage is what the generic API server uses of a storage to read it.
type readStorage interface {
	rest.Storage
	rest.Getter
	rest.Lister
	rest.Watcher
	rest.Scoper
	rest.SingularNameProvider
}

// readOnly hides how a storage is written: neither discovery nor the server knows of writes.
type readOnly struct{ readStorage }
