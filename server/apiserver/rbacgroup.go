package apiserver

import (
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	rbacapi "k8s.io/kubernetes/pkg/apis/rbac"
	rbacconv "k8s.io/kubernetes/pkg/apis/rbac/v1"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrole"
	clusterrolepolicy "k8s.io/kubernetes/pkg/registry/rbac/clusterrole/policybased"
	clusterrolestore "k8s.io/kubernetes/pkg/registry/rbac/clusterrole/storage"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	clusterbindingpolicy "k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding/policybased"
	clusterbindingstore "k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding/storage"
	rolepolicy "k8s.io/kubernetes/pkg/registry/rbac/role/policybased"
	rolestore "k8s.io/kubernetes/pkg/registry/rbac/role/storage"
	bindingpolicy "k8s.io/kubernetes/pkg/registry/rbac/rolebinding/policybased"
	bindingstore "k8s.io/kubernetes/pkg/registry/rbac/rolebinding/storage"
	"k8s.io/kubernetes/pkg/registry/rbac/validation"

	"skerry.dev/skerry/server/apiserver/authz"
	"skerry.dev/skerry/server/apiserver/wellknown"
)

// rbacGroup is the group rbac.authorization.k8s.io. Unlike upstream's provider it knows the
// well-known roles when it asks whether somebody gives away more than he has, and it shows them.
type rbacGroup struct {
	authz authorizer.Authorizer
	roles *authz.Roles
	born  wellknown.Birth
}

func (*rbacGroup) GroupName() string { return rbacapi.GroupName }

func (g *rbacGroup) NewRESTStorage(
	_ serverstorage.APIResourceConfigSource,
	og generic.RESTOptionsGetter,
) (genericapiserver.APIGroupInfo, error) {
	info := genericapiserver.NewDefaultAPIGroupInfo(
		rbacapi.GroupName,
		legacyscheme.Scheme,
		legacyscheme.ParameterCodec,
		legacyscheme.Codecs,
	)
	roles, err := rolestore.NewREST(og)
	if err != nil {
		return info, err
	}
	bindings, err := bindingstore.NewREST(og)
	if err != nil {
		return info, err
	}
	clusterRoles, err := clusterrolestore.NewREST(og)
	if err != nil {
		return info, err
	}
	clusterBindings, err := clusterbindingstore.NewREST(og)
	if err != nil {
		return info, err
	}
	g.roles.Use(roles, clusterRoles, bindings, clusterBindings)
	resolver := validation.NewDefaultRuleResolver(g.roles, g.roles, g.roles, g.roles)
	known, err := g.known()
	if err != nil {
		return info, err
	}
	info.VersionedResourcesStorageMap["v1"] = map[string]rest.Storage{
		"roles":        rolepolicy.NewStorage(roles, g.authz, resolver),
		"rolebindings": bindingpolicy.NewStorage(bindings, g.authz, resolver),
		"clusterroles": &wellknown.Storage{
			Stored:   clusterrolepolicy.NewStorage(clusterRoles, g.authz, resolver),
			Plain:    clusterRoles,
			Strategy: clusterrole.Strategy,
			Resource: rbacapi.Resource("clusterroles"),
			Known:    known.roles,
			Born:     g.born,
		},
		"clusterrolebindings": &wellknown.Storage{
			Stored:   clusterbindingpolicy.NewStorage(clusterBindings, g.authz, resolver),
			Plain:    clusterBindings,
			Strategy: clusterrolebinding.Strategy,
			Resource: rbacapi.Resource("clusterrolebindings"),
			Known:    known.bindings,
			Born:     g.born,
		},
	}
	return info, nil
}

// knownObjects are the well-known objects in the form in which storages handle them.
type knownObjects struct{ roles, bindings map[string]wellknown.Object }

func (g *rbacGroup) known() (knownObjects, error) {
	out := knownObjects{map[string]wellknown.Object{}, map[string]wellknown.Object{}}
	for name, r := range g.roles.Bootstrap.Roles {
		internal := &rbacapi.ClusterRole{}
		if err := rbacconv.Convert_v1_ClusterRole_To_rbac_ClusterRole(r.DeepCopy(), internal, nil); err != nil {
			return out, err
		}
		out.roles[name] = internal
	}
	for _, b := range g.roles.Bootstrap.Bindings {
		full := b.DeepCopy()
		rbacconv.SetObjectDefaults_ClusterRoleBinding(full)
		internal := &rbacapi.ClusterRoleBinding{}
		if err := rbacconv.Convert_v1_ClusterRoleBinding_To_rbac_ClusterRoleBinding(full, internal, nil); err != nil {
			return out, err
		}
		out.bindings[full.Name] = internal
	}
	return out, nil
}
