package pods

import (
	"context"
	"testing"

	api "k8s.io/kubernetes/pkg/apis/core"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

type onePod struct{ pod *api.Pod }

func (p onePod) Get(context.Context, string, *metav1.GetOptions) (runtime.Object, error) {
	return p.pod, nil
}

// TestRunningPods: upstream's checks see a Pod as it runs, and the stored one stays as it is.
func TestRunningPods(t *testing.T) {
	stored := &api.Pod{Spec: api.PodSpec{Containers: []api.Container{{Name: "a"}}},
		Status: api.PodStatus{EphemeralContainerStatuses: []api.ContainerStatus{{Name: "look"}}}}
	got, err := runningPods{onePod{stored}}.Get(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	pod := got.(*api.Pod)
	if pod.Spec.NodeName == "" || len(pod.Spec.EphemeralContainers) != 1 ||
		pod.Spec.EphemeralContainers[0].Name != "look" {
		t.Errorf("%+v", pod.Spec)
	}
	if stored.Spec.NodeName != "" || stored.Spec.EphemeralContainers != nil {
		t.Error("the stored Pod was changed")
	}
}
