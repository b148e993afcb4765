package pods

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	api "k8s.io/kubernetes/pkg/apis/core"

	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/tunnel/exchange"
)

// podStatuses has a site write the conditions of a Pod's readiness gates.
type podStatuses struct {
	statuses
	at siteObjects
}

// statuses is the storage of a status subresource.
type statuses interface {
	rest.Storage
	rest.Patcher
	rest.ResetFieldsStrategy
	rest.TableConvertor
}

// Update implements rest.Updater.
func (p *podStatuses) Update(
	ctx context.Context,
	name string,
	info rest.UpdatedObjectInfo,
	create rest.ValidateObjectFunc,
	validate rest.ValidateObjectUpdateFunc,
	forceAllowCreate bool,
	o *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	if request.FromCenter(ctx) {
		return p.statuses.Update(ctx, name, info, create, validate, forceAllowCreate, o)
	}
	found, err := p.at.objects.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, unlessGone(err)
	}
	if !born(ctx, found) && metadata.Of(found).GetAnnotations()[exchange.Targets] == "" {
		return p.statuses.Update(ctx, name, info, create, validate, forceAllowCreate, o)
	}
	obj, err := p.at.wanted(ctx, info, found)
	if err != nil {
		return nil, false, err
	}
	old, pod := found.(*api.Pod), obj.(*api.Pod)
	conditions := changedConditions(old, pod)
	pod.ObjectMeta, pod.Spec = *old.ObjectMeta.DeepCopy(), *old.Spec.DeepCopy()
	if err := validate(ctx, pod.DeepCopy(), old.DeepCopy()); err != nil {
		return nil, false, err
	}
	if len(conditions) == 0 {
		return old, false, nil
	}
	now, err := p.at.change(ctx, old, pod, &exchange.Changes{Conditions: conditions}, o.DryRun)
	return now, false, err
}

// changedConditions are those that differ from what a Pod has. Which of them may be written is the
// site's to say.
func changedConditions(old, pod *api.Pod) (out []exchange.Condition) {
	when := func(t metav1.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.RFC3339)
	}
	for _, c := range pod.Status.Conditions {
		if slices.ContainsFunc(old.Status.Conditions, func(was api.PodCondition) bool {
			return equality.Semantic.DeepEqual(was, c)
		}) {
			continue
		}
		out = append(out, exchange.Condition{
			Type: string(
				c.Type,
			), Status: string(c.Status), ObservedGeneration: c.ObservedGeneration,
			LastProbeTime: when(c.LastProbeTime), LastTransitionTime: when(c.LastTransitionTime),
			Reason: c.Reason, Message: c.Message,
		})
	}
	return out
}
