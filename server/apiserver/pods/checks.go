package pods

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	api "k8s.io/kubernetes/pkg/apis/core"
	kubelet "k8s.io/kubernetes/pkg/kubelet/client"
	podreg "k8s.io/kubernetes/pkg/registry/core/pod"
)

// errAtSite is what upstream's storages come to when they have checked everything: options, the
// verb create, the Pod and its container.
var errAtSite = errors.New("the pod runs at a site")

// NoKubelets stands in for the way to kubelets.
type NoKubelets struct{}

// GetConnectionInfo implements kubelet.ConnectionInfoGetter.
func (NoKubelets) GetConnectionInfo(
	context.Context,
	types.NodeName,
) (*kubelet.ConnectionInfo, error) {
	return nil, errAtSite
}

// runningPods shows Pods to upstream's checks as they run: a Pod that was placed has its node, and
// the containers that debug it, at its site alone.
type runningPods struct{ podreg.ResourceGetter }

// Get implements podreg.ResourceGetter.
func (p runningPods) Get(
	ctx context.Context,
	name string,
	o *metav1.GetOptions,
) (runtime.Object, error) {
	obj, err := p.ResourceGetter.Get(ctx, name, o)
	if err != nil {
		return nil, err
	}
	pod := obj.(*api.Pod).DeepCopy()
	if pod.Spec.NodeName == "" {
		pod.Spec.NodeName = "site"
	}
	known := map[string]bool{}
	for _, c := range pod.Spec.EphemeralContainers {
		known[c.Name] = true
	}
	for _, c := range pod.Status.EphemeralContainerStatuses {
		if !known[c.Name] {
			pod.Spec.EphemeralContainers = append(
				pod.Spec.EphemeralContainers,
				api.EphemeralContainer{
					EphemeralContainerCommon: api.EphemeralContainerCommon{Name: c.Name},
				},
			)
		}
	}
	return pod, nil
}
