package kinds

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration"
	apiservicestore "k8s.io/kube-aggregator/pkg/registry/apiservice/etcd"

	"skerry.dev/skerry/server/placement"
)

// StoreAPIServices has each APIService that names a Service say in its status that a space does not
// serve it.
func StoreAPIServices(r *apiservicestore.REST) {
	r.CreateStrategy = apiServiceCreate{r.CreateStrategy}
	r.UpdateStrategy = apiServiceUpdate{r.UpdateStrategy}
}

type apiServiceCreate struct{ rest.RESTCreateStrategy }

func (s apiServiceCreate) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	s.RESTCreateStrategy.PrepareForCreate(ctx, obj)
	unavailable(obj.(*apiregistration.APIService))
}

type apiServiceUpdate struct{ rest.RESTUpdateStrategy }

func (s apiServiceUpdate) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	s.RESTUpdateStrategy.PrepareForUpdate(ctx, obj, old)
	unavailable(obj.(*apiregistration.APIService))
}

func unavailable(o *apiregistration.APIService) {
	if o.Spec.Service == nil {
		return
	}
	apiregistration.SetAPIServiceCondition(o, apiregistration.APIServiceCondition{
		Type: apiregistration.Available, Status: apiregistration.ConditionFalse, Reason: placement.NeverPlaced,
		Message: placement.APIServiceUnserved, LastTransitionTime: metav1.Now(),
	})
}
