package pods

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/apis/policy"
	podstore "k8s.io/kubernetes/pkg/registry/core/pod/storage"

	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/tunnel/exchange"
)

// Endings is told which Pods that were placed by themselves end because a user said so.
type Endings interface {
	// Evicted is called before the Pod is deleted.
	Evicted(ctx context.Context, pod metav1.Object)
}

// podEvictions evicts a Pod at its site, whose disruption budgets count. A Pod that was placed by
// itself is then deleted here.
type podEvictions struct {
	*podstore.EvictionREST
	at      siteObjects
	pods    *podstore.REST
	endings Endings
}

// Create implements rest.NamedCreater.
func (p *podEvictions) Create(
	ctx context.Context,
	name string,
	obj runtime.Object,
	validate rest.ValidateObjectFunc,
	o *metav1.CreateOptions,
) (runtime.Object, error) {
	eviction, ok := obj.(*policy.Eviction)
	if !ok || eviction.Name != name {
		return nil, apierrors.NewBadRequest("the name of the eviction is not that of the pod")
	}
	obj, err := p.at.objects.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, unlessGone(err)
	}
	options := eviction.DeleteOptions
	if options == nil {
		options = &metav1.DeleteOptions{}
	}
	if len(options.DryRun) == 0 {
		options.DryRun = o.DryRun
	}
	if err := p.at.stillThat(obj, options.Preconditions); err != nil {
		return nil, err
	}
	if err := validate(ctx, eviction.DeepCopy()); err != nil {
		return nil, err
	}
	if atSite := born(ctx, obj) || metadata.Of(obj).GetAnnotations()[exchange.Targets] != ""; atSite {
		err := p.at.end(ctx, obj, exchange.Evict, options)
		if err != nil && (born(ctx, obj) || !apierrors.IsNotFound(err)) { // it may not be there yet
			return nil, err
		}
	}
	if !born(ctx, obj) { // the user's object is the truth: the site would make the Pod again
		uid := metadata.Of(obj).GetUID()
		o := options.DeepCopy()
		o.Preconditions = &metav1.Preconditions{UID: &uid}
		if len(o.DryRun) == 0 {
			p.endings.Evicted(ctx, metadata.Of(obj))
		}
		if _, _, err := p.pods.Delete(ctx, name, rest.ValidateAllObjectFunc, o); err != nil &&
			!apierrors.IsNotFound(err) {
			return nil, err
		}
	}
	return &metav1.Status{Status: metav1.StatusSuccess}, nil
}
