package kinds

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	apiservice "k8s.io/kubernetes/pkg/api/service"
	api "k8s.io/kubernetes/pkg/apis/core"
	servicereg "k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/core/service/ipallocator"
	servicestore "k8s.io/kubernetes/pkg/registry/core/service/storage"

	"skerry.dev/skerry/server/apiserver/request"
)

// AddServices serves Services without allocating anything: a space routes nothing, the workload
// cluster allocates addresses and ports, and the space shows what it reports. Upstream's hooks,
// which would allocate and delete Endpoints, are taken out. So is the one that guesses the address
// families of a Service when it is read: what is read would not be what is stored, and its targets
// would be sent either. The families are the cluster's choice, too.
func AddServices(m map[string]rest.Storage, og generic.RESTOptionsGetter) error {
	none := map[api.IPFamily]ipallocator.Interface{}
	services, _, _, err := servicestore.NewREST(og, api.IPv4Protocol, none, nil, nil, nil, nil)
	if err != nil {
		return err
	}
	services.Store.AfterDelete, services.Store.Decorator = nil, nil
	services.Store.BeginCreate = func(
		_ context.Context,
		obj runtime.Object,
		_ *metav1.CreateOptions,
	) (registry.FinishFunc, error) {
		pairAddresses(obj.(*api.Service))
		return func(context.Context, bool) {}, nil
	}
	services.Store.BeginUpdate = func(
		ctx context.Context,
		obj, old runtime.Object,
		_ *metav1.UpdateOptions,
	) (registry.FinishFunc, error) {
		after, before := obj.(*api.Service), old.(*api.Service)
		pairAddresses(before)
		keepAllocated(after, before)
		keepFamilies(after, before)
		followAddress(after, before)
		if request.FromCenter(ctx) {
			// What is allocated has no field manager in a cluster. Who applies an empty clusterIP has no conflict.
			after.ManagedFields = before.ManagedFields
		}
		return func(context.Context, bool) {}, nil
	}
	services.Store.CreateStrategy = unsettledStrategy{services.Store.CreateStrategy}
	services.Store.UpdateStrategy = settledStrategy{services.Store.UpdateStrategy}
	m["services"] = unallocated{services}
	m["services/status"] = NewReportedStatus(services.Store, servicereg.StatusStrategy)
	return nil
}

// checked returns a Service as upstream validates it. Upstream validates it after allocation, so a
// health-check port that the target has yet to choose counts as chosen.
func checked(s *api.Service) *api.Service {
	if apiservice.NeedsHealthCheck(s) && s.Spec.HealthCheckNodePort == 0 {
		s = s.DeepCopy()
		s.Spec.HealthCheckNodePort = unchosenPort
	}
	return s
}

// unchosenPort stands in a check for a port that is not chosen yet.
const unchosenPort = 65535

// unsettledStrategy takes a Service whose ports its target has yet to choose.
type unsettledStrategy struct{ rest.RESTCreateStrategy }

// Validate implements rest.RESTCreateStrategy.
func (s unsettledStrategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	return s.RESTCreateStrategy.Validate(ctx, checked(obj.(*api.Service)))
}

// settledStrategy lets the center change addresses: a Service that has moved has those of another
// cluster. Users may not change them.
type settledStrategy struct{ rest.RESTUpdateStrategy }

// ValidateUpdate implements rest.RESTUpdateStrategy.
func (s settledStrategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	before, after := old.(*api.Service).DeepCopy(), obj.(*api.Service)
	if request.FromCenter(ctx) {
		before.Spec.ClusterIP, before.Spec.ClusterIPs = after.Spec.ClusterIP, after.Spec.ClusterIPs
		before.Spec.IPFamilies, before.Spec.IPFamilyPolicy = after.Spec.IPFamilies, after.Spec.IPFamilyPolicy
	}
	if request.FromCenter(ctx) || before.Spec.HealthCheckNodePort == 0 {
		before.Spec.HealthCheckNodePort = after.Spec.HealthCheckNodePort
	}
	return s.RESTUpdateStrategy.ValidateUpdate(ctx, checked(after), checked(before))
}

// unallocated is upstream's storage of Services, whose Destroy would also destroy allocators that
// do not exist.
type unallocated struct{ *servicestore.REST }

// Destroy implements rest.Storage.
func (u unallocated) Destroy() { u.Store.Destroy() }
