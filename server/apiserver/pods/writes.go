package pods

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	api "k8s.io/kubernetes/pkg/apis/core"
	coreconv "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/policy"
	podreg "k8s.io/kubernetes/pkg/registry/core/pod"
	podstore "k8s.io/kubernetes/pkg/registry/core/pod/storage"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/tunnel/exchange"
)

// podDeletes deletes a mirrored Pod at its site. The mirror goes when the site reports that the Pod
// has gone.
type podDeletes struct {
	*podstore.REST
	at sitePods
}

// Delete implements rest.GracefulDeleter.
func (p *podDeletes) Delete(
	ctx context.Context,
	name string,
	validate rest.ValidateObjectFunc,
	o *metav1.DeleteOptions,
) (runtime.Object, bool, error) {
	if request.FromCenter(ctx) {
		return p.REST.Delete(ctx, name, validate, o)
	}
	obj, err := p.REST.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, err
	}
	pod := obj.(*api.Pod)
	if _, mirrored := metadata.Annotation(pod, v1alpha1.AnnotationReportedFrom); !mirrored {
		return p.REST.Delete(ctx, name, validate, o)
	}
	if err := stillThat(pod, o.Preconditions); err != nil {
		return nil, false, err
	}
	if err := validate(ctx, pod.DeepCopy()); err != nil {
		return nil, false, err
	}
	if err := p.at.end(ctx, name, exchange.Delete, o); err != nil {
		return nil, false, err
	}
	now := metav1.Now()
	pod = pod.DeepCopy()
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &now, o.GracePeriodSeconds
	return pod, false, nil
}

// stillThat compares a Pod with the preconditions of its deletion.
func stillThat(pod *api.Pod, on *metav1.Preconditions) error {
	if on == nil ||
		(on.UID == nil || *on.UID == pod.UID) &&
			(on.ResourceVersion == nil || *on.ResourceVersion == pod.ResourceVersion) {
		return nil
	}
	return apierrors.NewConflict(
		api.Resource("pods"),
		pod.Name,
		fmt.Errorf("the UID or the resourceVersion in the precondition is not that of the pod"),
	)
}

// end has a site delete or evict a Pod.
func (s sitePods) end(
	ctx context.Context,
	name string,
	v exchange.Verb,
	o *metav1.DeleteOptions,
) error {
	query := url.Values{}
	if o.GracePeriodSeconds != nil {
		query.Set("gracePeriodSeconds", strconv.FormatInt(*o.GracePeriodSeconds, 10))
	}
	if o.PropagationPolicy != nil {
		query.Set("propagationPolicy", string(*o.PropagationPolicy))
	}
	if len(o.DryRun) > 0 {
		query.Set("dryRun", metav1.DryRunAll)
	}
	target, r, err := s.request(ctx, name, v, query)
	if err != nil {
		return retryLater(ctx, err)
	}
	resp, err := s.do(ctx, target, r)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// podEvictions evicts a mirrored Pod at its site, whose disruption budgets count.
type podEvictions struct {
	*podstore.EvictionREST
	at sitePods
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
	found, err := p.at.pods.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	pod := found.(*api.Pod)
	if _, mirrored := metadata.Annotation(pod, v1alpha1.AnnotationReportedFrom); !mirrored {
		return nil, apierrors.NewBadRequest(
			"the pod was placed by itself and would be made again at its site; delete it",
		)
	}
	options := eviction.DeleteOptions
	if options == nil {
		options = &metav1.DeleteOptions{}
	}
	if len(options.DryRun) == 0 {
		options.DryRun = o.DryRun
	}
	if err := stillThat(pod, options.Preconditions); err != nil {
		return nil, err
	}
	if err := validate(ctx, eviction.DeepCopy()); err != nil {
		return nil, err
	}
	if err := p.at.end(ctx, name, exchange.Evict, options); err != nil {
		return nil, err
	}
	return &metav1.Status{Status: metav1.StatusSuccess}, nil
}

// podDebugs adds ephemeral containers to a Pod at its site. The Pod of the space shows them when
// the site reports them.
type podDebugs struct {
	*podstore.EphemeralContainersREST
	at sitePods
}

// Update implements rest.Updater.
func (p *podDebugs) Update(
	ctx context.Context,
	name string,
	info rest.UpdatedObjectInfo,
	_ rest.ValidateObjectFunc,
	validate rest.ValidateObjectUpdateFunc,
	_ bool,
	o *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	found, err := p.at.pods.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, err
	}
	old := found.(*api.Pod)
	if err := stillThat(old, info.Preconditions()); err != nil {
		return nil, false, err
	}
	changed, err := info.UpdatedObject(ctx, old.DeepCopy())
	if err != nil {
		return nil, false, err
	}
	pod, ok := changed.(*api.Pod)
	if !ok {
		return nil, false, apierrors.NewBadRequest("a pod is needed")
	}
	if err := rest.BeforeUpdate(podreg.EphemeralContainersStrategy, ctx, pod, old); err != nil {
		return nil, false, err
	}
	if err := validate(ctx, pod.DeepCopy(), old.DeepCopy()); err != nil {
		return nil, false, err
	}
	if len(o.DryRun) > 0 {
		return pod, false, nil
	}
	added := pod.Spec.EphemeralContainers[min(len(old.Spec.EphemeralContainers), len(pod.Spec.EphemeralContainers)):]
	if len(added) == 0 {
		return pod, false, nil
	}
	return pod, false, p.at.debug(ctx, name, added)
}

// debug has a site add containers to a Pod.
func (s sitePods) debug(ctx context.Context, name string, added []api.EphemeralContainer) error {
	list := make([]corev1.EphemeralContainer, len(added))
	for i := range added {
		if err := coreconv.Convert_core_EphemeralContainer_To_v1_EphemeralContainer(&added[i], &list[i], nil); err != nil {
			return fmt.Errorf("convert the containers: %w", err)
		}
	}
	body, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("encode the containers: %w", err)
	}
	target, r, err := s.request(ctx, name, exchange.Debug, nil)
	if err != nil {
		return retryLater(ctx, err)
	}
	r.Body = body
	resp, err := s.do(ctx, target, r)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
