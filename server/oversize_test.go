package server_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"skerry.dev/skerry/server"
	"skerry.dev/skerry/server/api/v1alpha1"
)

// TestOversizeObjectStopsNothing stores an object that is larger than what is sent to a target. The center goes on to
// place others.
func TestOversizeObjectStopsNothing(t *testing.T) {
	(&atRest{t: t, dir: t.TempDir()}).run(func(s *server.Server, _ *kubernetes.Clientset) {
		ctx, root := t.Context(), dyn(t, s.Loopback("root"))
		_, err := root.Resource(syncTargetsGVR).Create(ctx, object("skerry.dev/v1alpha1", "SyncTarget", "", "oslo"),
			metav1.CreateOptions{})
		must(t, err)
		_, err = root.Resource(spacesGVR).Create(ctx, object("skerry.dev/v1alpha1", "Space", "", "team"),
			metav1.CreateOptions{})
		must(t, err)
		core := clients(t, s.Loopback("team")).CoreV1()
		placed := func(name string) {
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name,
				Labels: map[string]string{v1alpha1.LabelTarget: "oslo"}}}
			within(t, time.Minute, name+" is stored", func() bool {
				_, err := core.Namespaces().Create(ctx, ns, metav1.CreateOptions{})
				return err == nil
			})
			within(t, time.Minute, name+" is placed", func() bool {
				got, err := core.Namespaces().Get(ctx, name, metav1.GetOptions{})
				must(t, err)
				return got.Annotations[v1alpha1.AnnotationTargets] == "oslo"
			})
		}
		placed("before")
		// A quote takes two bytes of JSON. The center itself may store more than users may.
		_, err = core.ConfigMaps("before").Create(ctx, configMap("grown", map[string]string{"a": strings.Repeat(`"`, 800<<10)}),
			metav1.CreateOptions{})
		must(t, err)
		placed("after")
	})
}
