package admission

import (
	"context"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/registry/rest"
	api "k8s.io/kubernetes/pkg/apis/core"
	corehelper "k8s.io/kubernetes/pkg/apis/core/helper"
	"k8s.io/kubernetes/pkg/apis/networking"
	"k8s.io/kubernetes/pkg/apis/scheduling"
	schedulingv1 "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	storageapi "k8s.io/kubernetes/pkg/apis/storage"
	storageutil "k8s.io/kubernetes/pkg/apis/storage/util"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/storage"
	"skerry.dev/skerry/server/placement"
)

// ClusterDefaults is the admission plugin that fills in what Kubernetes' own plugins
// ServiceAccount, Priority, DefaultStorageClass and DefaultIngressClass do, as far as a space knows it: of bare
// Pods, claims and Ingresses that users make. As PersistentVolumeClaimResize it refuses that a claim grows whose
// class says so. What the site fills in again is not sent (package customize), so that the
// site's own defaults hold there. A default class that the space has itself is its users' wish, and is sent by its
// name. A Pod that is replaced keeps its account and its priority.
type ClusterDefaults struct {
	// Priorities, StorageClasses and IngressClasses list what a space stores itself.
	Priorities     rest.Lister
	StorageClasses rest.Lister
	IngressClasses rest.Lister
	Offers         Offers
}

// Offers tells what targets have beside what a space stores.
type Offers interface {
	// MayHave reports whether a target that the space of ctx may use has a class of this kind and
	// name, as far as that is known. It is true while it is not.
	MayHave(ctx context.Context, kind, name string) bool
	// KeepsSize returns the first of some targets whose StorageClass of a name lets no claim grow, as
	// far as that is known; empty for none.
	KeepsSize(targets []string, class string) string
}

// Handles implements admission.Interface.
func (*ClusterDefaults) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Admit implements admission.MutationInterface.
func (c *ClusterDefaults) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if request.FromCenter(ctx) || a.GetSubresource() != "" {
		return nil
	}
	if a.GetOperation() == admission.Update {
		keepFilled(a)
		return c.resize(a)
	}
	switch o := a.GetObject().(type) {
	case *api.Pod:
		if o.Spec.ServiceAccountName == "" {
			o.Spec.ServiceAccountName = "default"
			//lint:ignore SA1019 both have to be the same
			o.Spec.DeprecatedServiceAccount = "default"
		}
		return c.prioritize(ctx, a, o)
	case *api.PersistentVolumeClaim:
		if corehelper.PersistentVolumeClaimHasClass(o) {
			return nil
		}
		return c.classify(ctx, o)
	case *networking.Ingress:
		_, named := o.Annotations[ingressClassAnnotation]
		if named || o.Spec.IngressClassName != nil {
			return nil
		}
		return c.route(ctx, o)
	}
	return nil
}

// ingressClassAnnotation named the class of an Ingress before spec.ingressClassName did.
const ingressClassAnnotation = "kubernetes.io/ingress.class"

// keepFilled leaves a Pod what was filled in: its account and its priority. Who replaces it from a manifest does
// not say them, and no Pod may change its own.
func keepFilled(a admission.Attributes) {
	pod, isPod := a.GetObject().(*api.Pod)
	old, wasPod := a.GetOldObject().(*api.Pod)
	if !isPod || !wasPod {
		return
	}
	if pod.Spec.ServiceAccountName == "" {
		pod.Spec.ServiceAccountName = old.Spec.ServiceAccountName
		//lint:ignore SA1019 both have to be the same
		pod.Spec.DeprecatedServiceAccount = old.Spec.DeprecatedServiceAccount
	}
	if pod.Spec.PriorityClassName == "" {
		pod.Spec.PriorityClassName = old.Spec.PriorityClassName
	}
	if pod.Spec.Priority == nil {
		pod.Spec.Priority = old.Spec.Priority
	}
	if pod.Spec.PreemptionPolicy == nil {
		pod.Spec.PreemptionPolicy = old.Spec.PreemptionPolicy
	}
}

// resize refuses a claim that is to grow where its target's class does not let it: a target that refuses
// that would take no other change of the claim either.
func (c *ClusterDefaults) resize(a admission.Attributes) error {
	now, isClaim := a.GetObject().(*api.PersistentVolumeClaim)
	was, wasClaim := a.GetOldObject().(*api.PersistentVolumeClaim)
	if !isClaim || !wasClaim || was.Spec.StorageClassName == nil ||
		now.Spec.Resources.Requests.Storage().Cmp(*was.Spec.Resources.Requests.Storage()) <= 0 {
		return nil
	}
	class := *was.Spec.StorageClassName
	targets := placement.Split(was.Annotations[v1alpha1.AnnotationTargets])
	if at := c.Offers.KeepsSize(targets, class); at != "" {
		return admission.NewForbidden(a, fmt.Errorf("only dynamically provisioned pvc can be resized and the storageclass "+
			"that provisions the pvc must support resize: StorageClass %s of site %s does not", class, at))
	}
	return nil
}

// prioritize gives a Pod the number of its class, or name and number of the default one. A class that the space
// does not have may be the site's: then the site says the number. One that nobody has is refused.
func (c *ClusterDefaults) prioritize(ctx context.Context, a admission.Attributes, pod *api.Pod) error {
	list, err := storage.AsOfNow(ctx, c.Priorities)
	if err != nil {
		return err
	}
	name := pod.Spec.PriorityClassName
	name, value, policy, known := priorityOf(name, list.(*scheduling.PriorityClassList).Items)
	if !known {
		if c.Offers.MayHave(ctx, "PriorityClass", name) {
			return nil
		}
		return admission.NewForbidden(a, fmt.Errorf("no PriorityClass with name %s was found: make it, or name "+
			"one that \"kubectl get priorityclasses\" lists", name))
	}
	if p := pod.Spec.Priority; p != nil && *p != value {
		return admission.NewForbidden(a, fmt.Errorf("spec.priority is %d, and that of its class %q is %d: leave it out",
			*p, name, value))
	}
	pod.Spec.PriorityClassName, pod.Spec.Priority = name, &value
	if pod.Spec.PreemptionPolicy == nil {
		pod.Spec.PreemptionPolicy = &policy
	}
	return nil
}

// systemClasses are those that every cluster has.
var systemClasses = schedulingv1.SystemPriorityClasses()

// priorityOf is the number and the policy of a class; without a name, those of the default one and its name, else 0.
func priorityOf(
	name string,
	classes []scheduling.PriorityClass,
) (class string, value int32, policy api.PreemptionPolicy, known bool) {
	policy = api.PreemptLowerPriority
	for _, c := range systemClasses {
		if c.Name == name {
			return name, c.Value, policy, true
		}
	}
	var best *scheduling.PriorityClass
	for i := range classes {
		c := &classes[i]
		if name != "" && c.Name == name || name == "" && c.GlobalDefault && (best == nil || c.Value < best.Value) {
			best = c
		}
	}
	if best == nil {
		return name, 0, policy, name == ""
	}
	if best.PreemptionPolicy != nil {
		policy = *best.PreemptionPolicy
	}
	return best.Name, best.Value, policy, true
}

// classify gives a claim the default class of the space, if the space has one: it is the user's
// wish then.
func (c *ClusterDefaults) classify(ctx context.Context, claim *api.PersistentVolumeClaim) error {
	list, err := storage.AsOfNow(ctx, c.StorageClasses)
	if err != nil {
		return err
	}
	claim.Spec.StorageClassName = defaultOf(list.(*storageapi.StorageClassList).Items,
		func(class *storageapi.StorageClass) (metav1.ObjectMeta, bool) {
			return class.ObjectMeta, storageutil.IsDefaultAnnotation(class.ObjectMeta)
		})
	return nil
}

// route gives an Ingress the default class of the space, likewise.
func (c *ClusterDefaults) route(ctx context.Context, ingress *networking.Ingress) error {
	list, err := storage.AsOfNow(ctx, c.IngressClasses)
	if err != nil {
		return err
	}
	ingress.Spec.IngressClassName = defaultOf(list.(*networking.IngressClassList).Items,
		func(class *networking.IngressClass) (metav1.ObjectMeta, bool) {
			return class.ObjectMeta, class.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true"
		})
	return nil
}

// defaultOf is the name of the newest class that is a default one; nil without any.
func defaultOf[C any](classes []C, is func(*C) (metav1.ObjectMeta, bool)) *string {
	var best *metav1.ObjectMeta
	for i := range classes {
		class, isDefault := is(&classes[i])
		if isDefault && (best == nil || best.CreationTimestamp.Before(&class.CreationTimestamp) ||
			best.CreationTimestamp.Equal(&class.CreationTimestamp) && class.Name < best.Name) {
			best = &class
		}
	}
	if best == nil {
		return nil
	}
	return &best.Name
}
