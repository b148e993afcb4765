package pods

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	api "k8s.io/kubernetes/pkg/apis/core"
	coreconv "k8s.io/kubernetes/pkg/apis/core/v1"
	podreg "k8s.io/kubernetes/pkg/registry/core/pod"
	podstore "k8s.io/kubernetes/pkg/registry/core/pod/storage"

	"skerry.dev/skerry/tunnel/exchange"
)

// podDebugs adds ephemeral containers to a Pod at its site. The Pod of the space shows them when
// the site reports them.
type podDebugs struct {
	*podstore.EphemeralContainersREST
	at siteObjects
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
	found, err := p.at.objects.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, err
	}
	old := found.(*api.Pod)
	if err := p.at.stillThat(old, info.Preconditions()); err != nil {
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
	return pod, false, p.at.debug(ctx, found, added)
}

// debug has a site add containers to a Pod.
func (s siteObjects) debug(
	ctx context.Context,
	pod runtime.Object,
	added []api.EphemeralContainer,
) error {
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
	return s.ask(ctx, pod, exchange.Debug, nil, body)
}
