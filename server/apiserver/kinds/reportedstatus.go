package kinds

import (
	"context"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"skerry.dev/skerry/server/apiserver/request"
)

// reportedStatus is the status subresource of a kind that sites run. Kubernetes forbids some
// changes of a status: a counter never decreases, a start time never changes. These rules hold for
// one cluster. When another target takes an object over, its status begins anew, so the center may
// write any valid status. Users stay bound by the rules.
type reportedStatus struct{ store *registry.Store }

// statusStrategy is what the packages of upstream's kinds export for their status.
type statusStrategy interface {
	rest.RESTUpdateStrategy
	rest.ResetFieldsStrategy
}

// NewReportedStatus returns the status subresource that belongs to the main storage of a kind.
func NewReportedStatus(main *registry.Store, s statusStrategy) rest.Storage {
	store := *main
	store.UpdateStrategy, store.ResetFieldsStrategy = anewStrategy{s}, s
	store.BeginCreate, store.BeginUpdate = nil, nil
	return &reportedStatus{&store}
}

// anewStrategy compares what the center writes with itself, so that no rule about changes applies.
type anewStrategy struct{ rest.RESTUpdateStrategy }

// ValidateUpdate implements rest.RESTUpdateStrategy.
func (s anewStrategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	if request.FromCenter(ctx) {
		old = old.DeepCopyObject()
		statusOf(old).Set(statusOf(obj.DeepCopyObject()))
	}
	return s.RESTUpdateStrategy.ValidateUpdate(ctx, obj, old)
}

// statusOf is the field Status of a built-in kind.
func statusOf(o runtime.Object) reflect.Value { return reflect.ValueOf(o).Elem().FieldByName("Status") }

// New implements rest.Storage.
func (r *reportedStatus) New() runtime.Object { return r.store.NewFunc() }

// Destroy implements rest.Storage. The store belongs to the main resource.
func (*reportedStatus) Destroy() {}

// Get implements rest.Getter.
func (r *reportedStatus) Get(ctx context.Context, name string, o *metav1.GetOptions) (runtime.Object, error) {
	return r.store.Get(ctx, name, o)
}

// Update implements rest.Updater. A subresource never creates its object.
func (r *reportedStatus) Update(ctx context.Context, name string, obj rest.UpdatedObjectInfo,
	create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc, _ bool, o *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	return r.store.Update(ctx, name, obj, create, update, false, o)
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (r *reportedStatus) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return r.store.GetResetFields()
}

// ConvertToTable implements rest.TableConvertor.
func (r *reportedStatus) ConvertToTable(ctx context.Context, obj, o runtime.Object) (*metav1.Table, error) {
	return r.store.ConvertToTable(ctx, obj, o)
}
