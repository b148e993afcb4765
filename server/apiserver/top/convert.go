package top

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/metrics/pkg/apis/metrics"

	"skerry.dev/skerry/server/quantity"
	"skerry.dev/skerry/tunnel/usage"
)

// convert returns what a site has said of a Pod as an object of the space, with the Pod's labels
// there. It fails for what no cluster says.
func convert(m usage.Metrics, labels map[string]string) (*metrics.PodMetrics, error) {
	wrong := func(what, value string) error {
		return fmt.Errorf("the site of pod %s/%s says no metrics of it: %s %.80q",
			m.Metadata.Namespace, m.Metadata.Name, what, value)
	}
	out := &metrics.PodMetrics{
		ObjectMeta: metav1.ObjectMeta{
			Name: m.Metadata.Name, Namespace: m.Metadata.Namespace, Labels: labels, CreationTimestamp: now(),
		},
		Timestamp: metav1.NewTime(m.Timestamp),
	}
	window, err := time.ParseDuration(m.Window)
	if err != nil {
		return nil, wrong("window", m.Window)
	}
	out.Window.Duration = window
	for _, c := range m.Containers {
		if len(validation.IsDNS1123Label(c.Name)) > 0 {
			return nil, wrong("container", c.Name)
		}
		used := corev1.ResourceList{}
		for name, value := range c.Usage {
			q, err := quantity.Parse(value)
			if err != nil || len(validation.IsQualifiedName(name)) > 0 {
				return nil, wrong("resource", name+"="+value)
			}
			used[corev1.ResourceName(name)] = q
		}
		out.Containers = append(out.Containers, metrics.ContainerMetrics{Name: c.Name, Usage: used})
	}
	return out, nil
}
