package admission

import (
	"context"
	"fmt"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/kubernetes/pkg/apis/scheduling"

	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/storage"
)

// Validate implements admission.ValidationInterface: it refuses a second PriorityClass that is the default, as
// Kubernetes' plugin Priority does, in its words. A second one of before may stay as it is.
func (c *ClusterDefaults) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	class, ok := a.GetObject().(*scheduling.PriorityClass)
	if !ok || !class.GlobalDefault || request.FromCenter(ctx) || a.GetSubresource() != "" {
		return nil
	}
	if old, ok := a.GetOldObject().(*scheduling.PriorityClass); ok && old.GlobalDefault {
		return nil
	}
	list, err := storage.AsOfNow(ctx, c.Priorities)
	if err != nil {
		return err
	}
	for _, other := range list.(*scheduling.PriorityClassList).Items {
		if other.GlobalDefault && other.Name != class.Name {
			return admission.NewForbidden(a, fmt.Errorf(
				"PriorityClass %s is already marked as default. Only one default can exist", other.Name))
		}
	}
	return nil
}
