package kinds

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	api "k8s.io/kubernetes/pkg/apis/core"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// smaller refuses every claim that wants less than it wanted.
type smaller struct{ rest.RESTUpdateStrategy }

func (smaller) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	now, was := obj.(*api.PersistentVolumeClaim), old.(*api.PersistentVolumeClaim)
	if now.Spec.Resources.Requests.Storage().Cmp(*was.Spec.Resources.Requests.Storage()) < 0 {
		return field.ErrorList{field.Forbidden(field.NewPath("spec"), "smaller")}
	}
	return nil
}

// TestARefusedGrowthIsTakenBack: what the target refuses would keep every other change of the claim away.
func TestARefusedGrowthIsTakenBack(t *testing.T) {
	claim := func(size, capacity string, synced api.ConditionStatus) *api.PersistentVolumeClaim {
		c := &api.PersistentVolumeClaim{}
		c.Spec.Resources.Requests = api.ResourceList{api.ResourceStorage: resource.MustParse(size)}
		c.Status.Capacity = api.ResourceList{api.ResourceStorage: resource.MustParse(capacity)}
		if synced != "" {
			c.Status.Conditions = []api.PersistentVolumeClaimCondition{
				{Type: v1alpha1.ConditionObjectSynced, Status: synced}}
		}
		return c
	}
	for name, c := range map[string]struct {
		was     *api.PersistentVolumeClaim
		size    string
		refused bool
	}{
		"the target refuses the growth": {claim("2Mi", "1Mi", api.ConditionFalse), "1Mi", false},
		"and would not take less":       {claim("2Mi", "1Mi", api.ConditionFalse), "512Ki", true},
		"the target is at it":           {claim("2Mi", "1Mi", ""), "1Mi", true},
		"the target has taken it":       {claim("2Mi", "1Mi", api.ConditionTrue), "1Mi", true},
	} {
		now := c.was.DeepCopy()
		now.Spec.Resources.Requests[api.ResourceStorage] = resource.MustParse(c.size)
		if errs := (SettledClaim{smaller{}}).ValidateUpdate(t.Context(), now, c.was); (len(errs) > 0) != c.refused {
			t.Errorf("%s: %v", name, errs)
		}
		if c.was.Spec.Resources.Requests.Storage().String() != "2Mi" {
			t.Errorf("%s: the claim that is stored was changed", name)
		}
	}
}
