package apiserver

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"

	appsrest "k8s.io/kubernetes/pkg/registry/apps/rest"
	authenticationrest "k8s.io/kubernetes/pkg/registry/authentication/rest"
	authorizationrest "k8s.io/kubernetes/pkg/registry/authorization/rest"
	autoscalingrest "k8s.io/kubernetes/pkg/registry/autoscaling/rest"
	batchrest "k8s.io/kubernetes/pkg/registry/batch/rest"
	certificatesrest "k8s.io/kubernetes/pkg/registry/certificates/rest"
	coordinationrest "k8s.io/kubernetes/pkg/registry/coordination/rest"
	corerest "k8s.io/kubernetes/pkg/registry/core/rest"
	discoveryrest "k8s.io/kubernetes/pkg/registry/discovery/rest"
	eventsrest "k8s.io/kubernetes/pkg/registry/events/rest"
	flowcontrolrest "k8s.io/kubernetes/pkg/registry/flowcontrol/rest"
	networkingrest "k8s.io/kubernetes/pkg/registry/networking/rest"
	noderest "k8s.io/kubernetes/pkg/registry/node/rest"
	policyrest "k8s.io/kubernetes/pkg/registry/policy/rest"
	storagerest "k8s.io/kubernetes/pkg/registry/storage/rest"

	"skerry.dev/skerry/server/apiserver/authn"
	"skerry.dev/skerry/server/apiserver/crd"
	"skerry.dev/skerry/server/apiserver/kinds"
	"skerry.dev/skerry/server/apiserver/pods"
	"skerry.dev/skerry/server/apiserver/storage"
)

// eventTTL is how long Events are kept, as in Kubernetes.
const eventTTL = time.Hour

// servedVersions lists the built-in groups, and unserved what is left out of them: kinds that would
// be accepted and have no effect in a space (README.md has the reasons).
var (
	servedVersions = []schema.GroupVersion{
		{Version: "v1"},
		{Group: "apps", Version: "v1"},
		{Group: "batch", Version: "v1"},
		{Group: "autoscaling", Version: "v1"},
		{Group: "autoscaling", Version: "v2"},
		{Group: "authentication.k8s.io", Version: "v1"},
		{Group: "authorization.k8s.io", Version: "v1"},
		{Group: "coordination.k8s.io", Version: "v1"},
		{Group: "discovery.k8s.io", Version: "v1"},
		{Group: "events.k8s.io", Version: "v1"},
		{Group: "networking.k8s.io", Version: "v1"},
		{Group: "node.k8s.io", Version: "v1"},
		{Group: "policy", Version: "v1"},
		{Group: "rbac.authorization.k8s.io", Version: "v1"},
		{Group: "scheduling.k8s.io", Version: "v1"},
		{Group: "storage.k8s.io", Version: "v1"},
		{Group: "apiextensions.k8s.io", Version: "v1"},
		{Group: "admissionregistration.k8s.io", Version: "v1"},
		{Group: "apiregistration.k8s.io", Version: "v1"},
		{Group: "certificates.k8s.io", Version: "v1"},
		{Group: "flowcontrol.apiserver.k8s.io", Version: "v1"},
		{Group: "resource.k8s.io", Version: "v1"},
	}
	unserved = []schema.GroupVersionResource{
		{Group: "resource.k8s.io", Version: "v1", Resource: "devicetaintrules"},
		{Group: "certificates.k8s.io", Version: "v1", Resource: "clustertrustbundles"},
		{Group: "certificates.k8s.io", Version: "v1", Resource: "podcertificaterequests"},
	}
)

func resourceConfig() *serverstorage.ResourceConfig {
	rc := serverstorage.NewResourceConfig()
	rc.EnableVersions(servedVersions...)
	rc.DisableResources(unserved...)
	return rc
}

// providers lists the groups in the order in which discovery shows them.
func providers(
	c *genericapiserver.Config,
	sf serverstorage.StorageFactory,
	p parts,
	st *storage.Storages,
) []kinds.Group {
	authz := c.Authorization.Authorizer
	core := &coreGroup{generic: corerest.GenericConfig{
		StorageFactory:              sf,
		EventTTL:                    p.eventTTL,
		LoopbackClientConfig:        c.LoopbackClientConfig,
		ServiceAccountIssuer:        p.tokens,
		ServiceAccountMaxExpiration: authn.LongestPersonToken,
		APIAudiences:                authenticator.Audiences{authn.Audience},
	}, authz: authz, sites: p.sites, named: p.named, departed: p.departed}
	return []kinds.Group{
		core,
		pods.Born{Group: kinds.Mirroring{Group: appsrest.StorageProvider{}}, Sites: p.sites},
		pods.Born{Group: kinds.Mirroring{Group: batchrest.RESTStorageProvider{}}, Sites: p.sites},
		autoscalingrest.RESTStorageProvider{},
		authn.Reviews{
			RESTStorageProvider: authenticationrest.RESTStorageProvider{
				Authenticator: c.Authentication.Authenticator,
				APIAudiences:  authenticator.Audiences{authn.Audience},
			},
		},
		authorizationrest.RESTStorageProvider{Authorizer: authz, RuleResolver: c.RuleResolver},
		coordinationrest.RESTStorageProvider{},
		kinds.Mirroring{Group: discoveryrest.StorageProvider{}},
		eventsrest.RESTStorageProvider{TTL: p.eventTTL},
		unwritten{networkingrest.RESTStorageProvider{}, []string{"ipaddresses", "servicecidrs"}},
		noderest.RESTStorageProvider{},
		policyrest.RESTStorageProvider{},
		&rbacGroup{authz: authz, roles: p.roles, born: p.lifecycle.Born},
		schedulingGroup{born: p.lifecycle.Born},
		unwritten{storagerest.RESTStorageProvider{}, []string{"csinodes", "csistoragecapacities", "volumeattachments"}},
		registrationGroup{authz},
		apiServiceGroup{},
		certificatesrest.RESTStorageProvider{Authorizer: authz},
		flowcontrolrest.RESTStorageProvider{},
		unwritten{deviceGroup{authz, p.sites}, []string{"resourceslices"}},
		crd.Group{Storages: st},
	}
}
