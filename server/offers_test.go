package server_test

import (
	"strings"
	"testing"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// TestSpacesSeeWhatTargetsOffer: through the API, with clients as people have them.
func TestSpacesSeeWhatTargetsOffer(t *testing.T) {
	c := start(t, t.TempDir(), newAuthority(t), nil)
	ctx, cancel := c.counting(t)
	defer func() { cancel(); c.stop() }()
	c.createSpace("team", "Delete")
	targets := dyn(t, c.admin("root")).Resource(v1alpha1.GroupVersion.WithResource("synctargets"))
	paris := object("skerry.dev/v1alpha1", "SyncTarget", "", "paris")
	paris.SetLabels(map[string]string{"region": "eu"})
	paris, err := targets.Create(ctx, paris, metav1.CreateOptions{})
	must(t, err)
	team := clients(t, c.admin("team"))
	factory := informers.NewSharedInformerFactory(team, 0)
	nodes, classes := factory.Core().V1().Nodes(), factory.Storage().V1().StorageClasses()
	nodes.Informer()
	classes.Informer()
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	defer cancel()
	factory.WaitForCacheSync(ctx.Done())
	paris.Object["status"] = map[string]any{
		"kubernetesVersion": "v1.31.2",
		"conditions": []any{map[string]any{
			"type": "Connected", "status": "True", "reason": "SessionOpen", "message": "it has one",
			"lastTransitionTime": "2026-11-21T12:00:00Z",
		}},
		"cluster": map[string]any{"nodes": int64(1), "ready": int64(1), "classes": []any{
			map[string]any{"kind": "StorageClass", "name": "local", "provider": "rancher.io/local-path", "default": true},
		}},
	}
	_, err = targets.UpdateStatus(ctx, paris, metav1.UpdateOptions{})
	must(t, err)
	within(t, 20*time.Second, "an informer has the node", func() bool {
		n, err := nodes.Lister().Get("paris")
		return err == nil && n.Status.NodeInfo.KubeletVersion == "v1.31.2" && n.Status.Conditions[0].Status == "True"
	})
	within(t, 20*time.Second, "an informer has the class", func() bool {
		class, err := classes.Lister().Get("local")
		return err == nil && class.Provisioner == "rancher.io/local-path"
	})
	_, err = team.CoreV1().Nodes().Patch(ctx, "paris", types.MergePatchType,
		[]byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{})
	if !apierrors.IsMethodNotSupported(err) || !strings.Contains(err.Error(), "skerry target drain paris") {
		t.Errorf("a node is changed, or nobody says what does it instead: %v", err)
	}
	_, err = clients(t, c.as("team", "nobody")).CoreV1().Nodes().Patch(ctx, "paris",
		types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("who may not see nodes is told about them: %v", err)
	}
	api := team.StorageV1().StorageClasses()
	if err := api.Delete(ctx, "local", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("an offered class is deleted: %v", err)
	}
	own, err := api.Patch(ctx, "local", types.MergePatchType, []byte(`{"metadata":{"labels":{"is":"ours"}}}`),
		metav1.PatchOptions{})
	must(t, err)
	if own.ResourceVersion == "1" || own.Annotations[v1alpha1.AnnotationOfferedBy] != "" ||
		own.Provisioner != "rancher.io/local-path" {
		t.Errorf("the space's own class is %+v", own)
	}
	_, err = api.Create(ctx, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "second"},
		Provisioner: "x"}, metav1.CreateOptions{})
	must(t, err)
	list, err := api.List(ctx, metav1.ListOptions{})
	must(t, err)
	if len(list.Items) != 2 {
		t.Errorf("classes %v", list.Items)
	}
	within(t, 20*time.Second, "the own class hides the offered one", func() bool {
		class, err := classes.Lister().Get("local")
		return err == nil && class.Labels["is"] == "ours"
	})
	must(t, api.Delete(ctx, "local", metav1.DeleteOptions{}))
	within(t, 20*time.Second, "the offered one shows again", func() bool {
		class, err := classes.Lister().Get("local")
		return err == nil && class.Annotations[v1alpha1.AnnotationOfferedBy] == "paris"
	})
	must(t, targets.Delete(ctx, "paris", metav1.DeleteOptions{}))
	within(t, 20*time.Second, "both are gone", func() bool {
		_, noNode := nodes.Lister().Get("paris")
		_, noClass := classes.Lister().Get("local")
		return noNode != nil && noClass != nil
	})
}
