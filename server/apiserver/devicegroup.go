package apiserver

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/kubernetes/pkg/apis/resource"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaim"
	claimstore "k8s.io/kubernetes/pkg/registry/resource/resourceclaim/storage"
	resourcerest "k8s.io/kubernetes/pkg/registry/resource/rest"

	"skerry.dev/skerry/server/apiserver/kinds"
	"skerry.dev/skerry/server/apiserver/pods"
)

// deviceGroup is the group resource.k8s.io: what workloads ask of devices. Claims and their templates
// are placed as volume claims are, and the scheduler of the site allocates. Claims that are made of a
// template at a site are mirrored. What nodes have is the site's: unwritten serves ResourceSlices.
type deviceGroup struct {
	authz authorizer.Authorizer
	sites pods.Sites
}

func (deviceGroup) GroupName() string { return resource.GroupName }

func (g deviceGroup) NewRESTStorage(
	config serverstorage.APIResourceConfigSource,
	og generic.RESTOptionsGetter,
) (genericapiserver.APIGroupInfo, error) {
	upstream := resourcerest.RESTStorageProvider{NamespaceClient: noAdminAccess{}, Authorizer: g.authz}
	info, err := upstream.NewRESTStorage(config, og)
	if err != nil {
		return info, err
	}
	storages := info.VersionedResourcesStorageMap["v1"]
	claims, ok := storages["resourceclaims"].(*claimstore.REST)
	if !ok {
		return info, fmt.Errorf("the storage of resourceclaims is a %T", storages["resourceclaims"])
	}
	kinds.MirrorInto(claims.Store)
	kinds.EndsAtSite(claims.Store)
	storages["resourceclaims"] = pods.Devices(claims, g.sites)
	storages["resourceclaims/status"] = kinds.NewReportedStatus(claims.Store,
		resourceclaim.NewStatusStrategy(resourceclaim.NewStrategy(noAdminAccess{}, g.authz)))
	return info, nil
}

// noAdminAccess stands for the Namespaces in which upstream looks for the right to use devices that
// others have. Agents take no such label from a space.
type noAdminAccess struct {
	corev1client.NamespaceInterface
}

var errAdminAccess = errors.New("a space gives no admin access to devices: they are a site's, and others use them; " +
	"leave adminAccess out, or let the site's admin make the claim at the site")

// Get implements corev1client.NamespaceInterface.
func (noAdminAccess) Get(context.Context, string, metav1.GetOptions) (*corev1.Namespace, error) {
	return nil, errAdminAccess
}
