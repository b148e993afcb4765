package admission

import (
	"context"
	"fmt"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/registry/rest"
	api "k8s.io/kubernetes/pkg/apis/core"
	corehelper "k8s.io/kubernetes/pkg/apis/core/helper"
	"k8s.io/kubernetes/pkg/apis/scheduling"
	storageapi "k8s.io/kubernetes/pkg/apis/storage"
	storageutil "k8s.io/kubernetes/pkg/apis/storage/util"

	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/storage"
)

// ClusterDefaults is the admission plugin that fills in what Kubernetes' own plugins
// ServiceAccount, Priority and DefaultStorageClass do, as far as a space knows it: of bare Pods and
// claims that users make. What the site fills in again is not sent (package customize), so that the
// site's own defaults hold there.
type ClusterDefaults struct {
	Priorities     rest.Lister
	StorageClasses rest.Lister
}

// Handles implements admission.Interface.
func (*ClusterDefaults) Handles(op admission.Operation) bool { return op == admission.Create }

// Admit implements admission.MutationInterface.
func (c *ClusterDefaults) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if request.FromCenter(ctx) || a.GetSubresource() != "" {
		return nil
	}
	switch o := a.GetObject().(type) {
	case *api.Pod:
		if o.Spec.ServiceAccountName == "" {
			o.Spec.ServiceAccountName = "default"
		}
		return c.prioritize(ctx, a, o)
	case *api.PersistentVolumeClaim:
		if corehelper.PersistentVolumeClaimHasClass(o) {
			return nil
		}
		return c.classify(ctx, o)
	}
	return nil
}

// prioritize gives a Pod the number of its class, or of the default one. A class that the space
// does not have may be the site's: then the site says the number.
func (c *ClusterDefaults) prioritize(ctx context.Context, a admission.Attributes, pod *api.Pod) error {
	list, err := storage.FromCache(ctx, c.Priorities)
	if err != nil {
		return err
	}
	value, policy, known := priorityOf(pod.Spec.PriorityClassName, list.(*scheduling.PriorityClassList).Items)
	if !known {
		return nil
	}
	if p := pod.Spec.Priority; p != nil && *p != value {
		return admission.NewForbidden(a, fmt.Errorf("spec.priority is %d, and that of its class %q is %d: leave it out",
			*p, pod.Spec.PriorityClassName, value))
	}
	pod.Spec.Priority = &value
	if pod.Spec.PreemptionPolicy == nil {
		pod.Spec.PreemptionPolicy = &policy
	}
	return nil
}

// priorityOf is the number and the policy of a class; without a name, of the default one, else 0.
func priorityOf(
	name string,
	classes []scheduling.PriorityClass,
) (value int32, policy api.PreemptionPolicy, known bool) {
	value, policy, known = 0, api.PreemptLowerPriority, name == ""
	found := false
	for i := range classes {
		class := &classes[i]
		if name != "" && class.Name != name || name == "" && (!class.GlobalDefault || found && class.Value >= value) {
			continue
		}
		value, found, known = class.Value, true, true
		if class.PreemptionPolicy != nil {
			policy = *class.PreemptionPolicy
		}
	}
	return value, policy, known
}

// classify gives a claim the default class of the space, if the space has one: it is the user's
// wish then.
func (c *ClusterDefaults) classify(ctx context.Context, claim *api.PersistentVolumeClaim) error {
	list, err := storage.FromCache(ctx, c.StorageClasses)
	if err != nil {
		return err
	}
	var best *storageapi.StorageClass
	classes := list.(*storageapi.StorageClassList).Items
	for i := range classes {
		class := &classes[i]
		if !storageutil.IsDefaultAnnotation(class.ObjectMeta) {
			continue
		}
		if best == nil || best.CreationTimestamp.Before(&class.CreationTimestamp) ||
			best.CreationTimestamp.Equal(&class.CreationTimestamp) && class.Name < best.Name {
			best = class
		}
	}
	if best != nil {
		claim.Spec.StorageClassName = &best.Name
	}
	return nil
}
