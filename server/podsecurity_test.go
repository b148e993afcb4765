package server_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// warnings keeps what an API server warned of.
type warnings struct {
	mu   sync.Mutex
	text []string
}

func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, text)
}

func (w *warnings) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := strings.Join(w.text, "\n")
	w.text = nil
	return text
}

// podSecurity: the labels of a namespace refuse Pods and warn of workloads, in their space alone,
// and not what the center shows.
func podSecurity(t *testing.T, c *center, space string) {
	ctx, told := t.Context(), &warnings{}
	config := c.admin(space)
	config.WarningHandlerWithContext = told
	api := clients(t, config)
	deep := func(name string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.PodSpec{HostNetwork: true, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}
	}
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	privileged := deep("privileged")
	privileged.Spec.HostNetwork, privileged.Spec.Containers[0].SecurityContext = false, &corev1.SecurityContext{
		Privileged: ptr(true),
	}
	if _, err := api.CoreV1().Pods("default").Create(ctx, privileged, dry); err != nil {
		t.Errorf("a privileged Pod where no label says anything: %v", err)
	}
	_, err := api.CoreV1().Pods("default").Create(ctx, deep("before"), metav1.CreateOptions{})
	must(t, err)
	label := func(name, value string, dryRun ...string) error {
		_, err := api.CoreV1().Namespaces().Patch(
			ctx,
			"default",
			types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"`+name+`":"`+value+`"}}}`),
			metav1.PatchOptions{DryRun: dryRun},
		)
		return err
	}
	within(t, time.Minute, "the Pods that are there, as a cache knows them, are warned of", func() bool {
		told.take()
		must(t, label("pod-security.kubernetes.io/enforce", "baseline", metav1.DryRunAll))
		return strings.Contains(told.take(), "before: host namespaces")
	})
	must(t, label("pod-security.kubernetes.io/enforce", "baseline"))
	if text := told.take(); !strings.Contains(text, "before: host namespaces") {
		t.Errorf("warned of the Pods that are there: %s", text)
	}
	if err := label("pod-security.kubernetes.io/enforce", "strong"); !apierrors.IsInvalid(err) ||
		!strings.Contains(err.Error(), "must be one of privileged, baseline, restricted") {
		t.Errorf("a level that is none: %v", err)
	}
	within(t, time.Minute, "the label takes effect", func() bool {
		_, err = api.CoreV1().Pods("default").Create(ctx, deep("refused"), dry)
		return err != nil
	})
	if !apierrors.IsForbidden(err) ||
		!strings.Contains(err.Error(), `violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)`) {
		t.Errorf("refused with %v", err)
	}
	_, err = api.CoreV1().Pods("default").Create(ctx, privileged, dry)
	if !apierrors.IsForbidden(err) ||
		!strings.Contains(err.Error(), `violates PodSecurity "baseline:latest": privileged`) {
		t.Errorf("a privileged Pod against the label: %v", err)
	}
	plain := deep("plain")
	plain.Spec.HostNetwork = false
	_, err = api.CoreV1().Pods("default").Create(ctx, plain, dry)
	check(t, err)
	d := deployment("i")
	d.Spec.Template.Spec.HostNetwork = true
	must(t, label("pod-security.kubernetes.io/warn", "baseline"))
	within(t, time.Minute, "a Deployment is warned of, and made", func() bool {
		told.take()
		_, err = api.AppsV1().Deployments("default").Create(ctx, d, dry)
		must(t, err)
		return strings.Contains(told.take(), `would violate PodSecurity "baseline:latest": host namespaces`)
	})
	_, err = clients(t, c.admin("furnished")).CoreV1().Pods("default").Create(ctx, deep("elsewhere"), dry)
	check(t, err)
	_, err = clients(t, c.api.Loopback(space)).CoreV1().Pods("default").Create(ctx, deep("by-the-center"), dry)
	check(t, err)
}
