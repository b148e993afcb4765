package apiserver

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/admissionregistration"
	mutatingpolicy "k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicy/storage"
	mutatingbinding "k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicybinding/storage"
	mutatingwebhook "k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingwebhookconfiguration/storage"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/resolver"
	validatingpolicy "k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicy/storage"
	validatingbinding "k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicybinding/storage"
	validatingwebhook "k8s.io/kubernetes/pkg/registry/admissionregistration/validatingwebhookconfiguration/storage"

	"skerry.dev/skerry/server/apiserver/policy"
)

// registrationGroup is the group admissionregistration.k8s.io. Upstream's provider would ask the
// discovery of one cluster what the parameters of policies are.
type registrationGroup struct{ authz authorizer.Authorizer }

func (registrationGroup) GroupName() string { return admissionregistration.GroupName }

func (g registrationGroup) NewRESTStorage(
	_ serverstorage.APIResourceConfigSource,
	og generic.RESTOptionsGetter,
) (genericapiserver.APIGroupInfo, error) {
	info := genericapiserver.NewDefaultAPIGroupInfo(
		admissionregistration.GroupName,
		legacyscheme.Scheme,
		legacyscheme.ParameterCodec,
		legacyscheme.Codecs,
	)
	kinds := resolver.ResourceResolverFunc(resourceOf)
	vp, vpStatus, err := validatingpolicy.NewREST(og, g.authz, kinds)
	if err != nil {
		return info, err
	}
	vb, err := validatingbinding.NewREST(og, g.authz, &validatingbinding.DefaultPolicyGetter{Getter: vp}, kinds)
	if err != nil {
		return info, err
	}
	mp, err := mutatingpolicy.NewREST(og, g.authz, kinds)
	if err != nil {
		return info, err
	}
	mb, err := mutatingbinding.NewREST(og, g.authz, &mutatingbinding.DefaultPolicyGetter{Getter: mp}, kinds)
	if err != nil {
		return info, err
	}
	vw, err := validatingwebhook.NewREST(og)
	if err != nil {
		return info, err
	}
	mw, err := mutatingwebhook.NewREST(og)
	if err != nil {
		return info, err
	}
	info.VersionedResourcesStorageMap["v1"] = map[string]rest.Storage{
		policy.ValidatingPolicies: vp, policy.ValidatingPolicies + "/status": vpStatus, policy.ValidatingBindings: vb,
		policy.MutatingPolicies: mp, policy.MutatingBindings: mb, policy.ValidatingWebhooks: vw, policy.MutatingWebhooks: mw,
	}
	return info, nil
}

// resourceOf tells the resource of a kind of parameters, so that whoever makes a policy is asked
// whether he may read it. What a space defines itself is not known here, without a request: then he
// must be allowed to read all resources of the group.
func resourceOf(kind schema.GroupVersionKind) (schema.GroupVersionResource, error) {
	if !legacyscheme.Scheme.Recognizes(kind) {
		return schema.GroupVersionResource{}, fmt.Errorf("%s is not built in", kind)
	}
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	return resource, nil
}
