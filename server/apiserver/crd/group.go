package crd

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsapiserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"

	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/storage"
)

// Group serves CustomResourceDefinitions themselves, to all spaces. Servers serves their objects.
type Group struct{ Storages *storage.Storages }

// GroupName returns the name of the API group.
func (Group) GroupName() string { return apiextensions.GroupName }

// NewRESTStorage makes the REST storages of the group apiextensions.k8s.io.
func (g Group) NewRESTStorage(
	serverstorage.APIResourceConfigSource,
	generic.RESTOptionsGetter,
) (genericapiserver.APIGroupInfo, error) {
	info := genericapiserver.NewDefaultAPIGroupInfo(
		apiextensions.GroupName,
		apiextensionsapiserver.Scheme,
		metav1.ParameterCodec,
		apiextensionsapiserver.Codecs,
	)
	g.Storages.AddNative(registrykey.CRDs.Group+"/"+registrykey.CRDs.Resource, registrykey.CRDs)
	codec := apiextensionsapiserver.Codecs.LegacyCodec(apiextensionsv1.SchemeGroupVersion)
	st, err := customresourcedefinition.NewREST(apiextensionsapiserver.Scheme, withCodec{g.Storages, codec, true, ""})
	if err != nil {
		return info, err
	}
	st.CreateStrategy = create{st.CreateStrategy}
	info.VersionedResourcesStorageMap["v1"] = map[string]rest.Storage{
		registrykey.CRDs.Resource: st,
		registrykey.CRDs.Resource + "/status": status{
			customresourcedefinition.NewStatusREST(apiextensionsapiserver.Scheme, st),
		},
	}
	return info, nil
}

// withCodec is a RESTOptionsGetter for resources that are stored by a codec of their own.
type withCodec struct {
	storages *storage.Storages
	codec    runtime.Codec
	cached   bool
	only     string
}

func (w withCodec) GetRESTOptions(gr schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	return w.storages.WithCodec(gr, w.codec, w.cached, w.only), nil
}

// create gives a new definition an empty list of conditions instead of none at all, on which
// "kubectl wait" fails instead of waiting: the space's server, which fills it, may only be
// starting.
type create struct{ rest.RESTCreateStrategy }

func (s create) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	s.RESTCreateStrategy.PrepareForCreate(ctx, obj)
	obj.(*apiextensions.CustomResourceDefinition).Status.Conditions = []apiextensions.CustomResourceDefinitionCondition{}
}

// status is the status of definitions. Upstream's strategy stores the metadata that comes with a
// status, and the server of a space writes it from copies that trimDefinition has taken annotations
// off.
type status struct {
	*customresourcedefinition.StatusREST
}

// Update implements rest.Updater. What the center writes keeps the annotations that are stored.
func (s status) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc,
	update rest.ValidateObjectUpdateFunc, force bool, o *metav1.UpdateOptions) (runtime.Object, bool, error) {
	if request.FromCenter(ctx) {
		info = rest.WrapUpdatedObjectInfo(info, keepStored)
	}
	return s.StatusREST.Update(ctx, name, info, create, update, force, o)
}

// keepStored completes a status that the server of a space writes with the annotations that are
// stored. If nothing but the condition Terminating has changed since the server read the
// definition, the write is one of the present version: upstream's finalizer, which alone writes
// that condition, tries again before it sees its own last write, and gives up at a conflict.
func keepStored(_ context.Context, obj, old runtime.Object) (runtime.Object, error) {
	after, ok := obj.(*apiextensions.CustomResourceDefinition)
	before, stored := old.(*apiextensions.CustomResourceDefinition)
	if !ok || !stored {
		return obj, nil
	}
	after.Annotations = maps.Clone(before.Annotations)
	if after.UID == before.UID && after.DeletionTimestamp != nil && slices.Equal(after.Finalizers, before.Finalizers) &&
		slices.Equal(after.Status.StoredVersions, before.Status.StoredVersions) &&
		equality.Semantic.DeepEqual(after.Status.AcceptedNames, before.Status.AcceptedNames) &&
		maps.Equal(lasting(after), lasting(before)) {
		after.ResourceVersion = before.ResourceVersion
	}
	return after, nil
}

// lasting are the conditions of a definition other than Terminating.
func lasting(
	crd *apiextensions.CustomResourceDefinition,
) map[apiextensions.CustomResourceDefinitionConditionType]apiextensions.ConditionStatus {
	out := map[apiextensions.CustomResourceDefinitionConditionType]apiextensions.ConditionStatus{}
	for _, c := range crd.Status.Conditions {
		if c.Type != apiextensions.Terminating {
			out[c.Type] = c.Status
		}
	}
	return out
}
