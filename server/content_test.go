package server_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

func namespaces(t *testing.T, c *center) {
	ctx := t.Context()
	for _, s := range []string{"team", "team-b"} {
		core := clients(t, c.admin(s)).CoreV1()
		_, err := core.Namespaces().Create(
			ctx,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "app"}},
			metav1.CreateOptions{},
		)
		must(t, err)
		_, err = core.ConfigMaps(
			"app",
		).Create(
			ctx,
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}},
			metav1.CreateOptions{},
		)
		must(t, err)
	}
	core := clients(t, c.admin("team")).CoreV1()
	must(t, core.Namespaces().Delete(ctx, "app", metav1.DeleteOptions{}))
	within(t, time.Minute, "deletion of the namespace", func() bool {
		_, err := core.Namespaces().Get(ctx, "app", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	if _, err := core.ConfigMaps("app").Get(ctx, "x", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("object of a deleted namespace: %v", err)
	}
	if _, err := core.ConfigMaps("app").Create(
		ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "y"}},
		metav1.CreateOptions{},
	); !apierrors.IsNotFound(
		err,
	) ||
		!strings.Contains(err.Error(), `namespaces "app" not found`) {
		t.Errorf("an object in no namespace: %v", err)
	}
	if err := core.Namespaces().Delete(ctx, "kube-system", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("deletion of kube-system: %v", err)
	}
	_, err := clients(t, c.admin("team-b")).CoreV1().ConfigMaps("app").Get(ctx, "x", metav1.GetOptions{})
	check(t, err)
}

func services(t *testing.T, c *center) {
	ctx := t.Context()
	api := clients(t, c.admin("team")).CoreV1().Services("default")
	port := []corev1.ServicePort{{Port: 80}}
	for _, spec := range []corev1.ServiceSpec{
		{Ports: port, Selector: map[string]string{"a": "b"}}, {Ports: port, Type: corev1.ServiceTypeNodePort},
		{Ports: port, Type: corev1.ServiceTypeLoadBalancer}, {Ports: port, ClusterIP: corev1.ClusterIPNone}, {
			Type:         corev1.ServiceTypeExternalName,
			ExternalName: "a.b",
		},
	} {
		s, err := api.Create(
			ctx,
			&corev1.Service{ObjectMeta: metav1.ObjectMeta{GenerateName: "s-"}, Spec: spec},
			metav1.CreateOptions{},
		)
		must(t, err)
		if s.Spec.ClusterIP != spec.ClusterIP || (len(s.Spec.Ports) > 0 && s.Spec.Ports[0].NodePort != 0) {
			t.Errorf("%s: something was allocated: %+v", spec.Type, s.Spec)
		}
		// The center writes what the target allocated.
		if spec.ClusterIP == "" && spec.Type != corev1.ServiceTypeExternalName {
			own := clients(t, c.api.Loopback("team")).CoreV1().Services("default")
			s, err = own.Patch(
				ctx,
				s.Name,
				types.MergePatchType,
				[]byte(`{"spec":{"clusterIP":"10.1.2.3"}}`),
				metav1.PatchOptions{},
			)
			must(t, err)
			if !slices.Equal(s.Spec.ClusterIPs, []string{"10.1.2.3"}) {
				t.Errorf("clusterIPs: %v", s.Spec.ClusterIPs)
			}
		}
		must(t, api.Delete(ctx, s.Name, metav1.DeleteOptions{}))
	}
	settled(t, c)
}

// settled: what the center has written of a target's addresses stays when a user brings the Service
// without them, and only the center may change it.
func settled(t *testing.T, c *center) {
	ctx := t.Context()
	user, own := c.services()
	plain := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "settled"},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort,
			Ports: []corev1.ServicePort{{Name: "a", Port: 80}, {Name: "b", Port: 81}}},
	}
	_, err := user.Create(ctx, plain, metav1.CreateOptions{})
	must(t, err)
	for _, ip := range []string{"10.1.2.3", "10.9.9.9"} { // it moves
		_, err := own.Patch(
			ctx,
			"settled",
			types.JSONPatchType,
			[]byte(
				`[{"op":"add","path":"/spec/clusterIP","value":"`+ip+`"},{"op":"add","path":"/spec/clusterIPs","value":["`+ip+`"]},
			{"op":"add","path":"/spec/ports/0/nodePort","value":30080}]`,
			),
			metav1.PatchOptions{},
		)
		must(t, err)
		s, err := user.Update(ctx, plain, metav1.UpdateOptions{})
		if err != nil || s.Spec.ClusterIP != ip || s.Spec.Ports[0].NodePort != 30080 || s.Spec.Ports[1].NodePort != 0 {
			t.Errorf("written again as it was made: %+v %v", s.Spec, err)
		}
	}
	if _, err := user.Patch(
		ctx,
		"settled",
		types.MergePatchType,
		[]byte(`{"spec":{"clusterIP":"10.1.1.1","clusterIPs":["10.1.1.1"]}}`),
		metav1.PatchOptions{},
	); !apierrors.IsInvalid(
		err,
	) {
		t.Errorf("a user changes the address: %v", err)
	}
	must(t, user.Delete(ctx, "settled", metav1.DeleteOptions{}))
}

func mirroredPods(t *testing.T, c *center) {
	ctx := t.Context()
	own := clients(t, c.api.Loopback("team")).CoreV1().Pods("default")
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "m",
			Annotations: map[string]string{v1alpha1.AnnotationReportedFrom: "paris",
				v1alpha1.AnnotationReportedCreation: "2026-01-02T03:04:05Z"},
		},
		Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1"},
	}
	pod, err := own.Create(ctx, pod, metav1.CreateOptions{})
	must(t, err)
	if pod.Status.Phase != corev1.PodRunning {
		t.Errorf("created with status %+v", pod.Status)
	}
	if age := pod.CreationTimestamp.UTC().Format(time.RFC3339); age != "2026-01-02T03:04:05Z" ||
		len(pod.Annotations) != 1 ||
		pod.ManagedFields != nil {
		t.Errorf(
			"created at %s with annotations %v and managers %v: not the reported Pod's age",
			age,
			pod.Annotations,
			pod.ManagedFields,
		)
	}
	pod.Annotations[v1alpha1.AnnotationReportedCreation] = "2026-01-02T03:04:05Z"
	pod.Spec.NodeName, pod.Status.Phase = "node", corev1.PodSucceeded
	pod, err = own.Update(ctx, pod, metav1.UpdateOptions{})
	must(t, err)
	if pod.Status.Phase != corev1.PodSucceeded || pod.Spec.NodeName != "node" || len(pod.Annotations) != 1 {
		t.Errorf("updated to %s on %q with annotations %v", pod.Status.Phase, pod.Spec.NodeName, pod.Annotations)
	}
	pod.Status.Message = "done"
	pod, err = own.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	must(t, err)
	if pod.Status.Message != "done" || pod.ManagedFields != nil {
		t.Errorf("a mirrored Pod of which only the center sets fields says who does: %v", pod.ManagedFields)
	}
	user := clients(t, c.admin("team")).CoreV1().Pods("default")
	_, err = user.Patch(
		ctx,
		"m",
		types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"a":"b"}}}`),
		metav1.PatchOptions{},
	)
	if !apierrors.IsServiceUnavailable(err) {
		t.Errorf("a user changes a mirrored Pod of which its site has said no UID: %v", err)
	}
	if err := user.Delete(ctx, "m", metav1.DeleteOptions{}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("a user deletes a mirrored Pod of which its site has said no UID: %v", err)
	}
	must(t, own.Delete(ctx, "m", metav1.DeleteOptions{}))
	if _, err := own.Get(ctx, "m", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the deletion of a Pod waits for somebody: %v", err)
	}
}

func deletingSpace(t *testing.T, c *center) {
	ctx := t.Context()
	c.createSpace("gone", "Retain")
	core := clients(t, c.admin("gone")).CoreV1()
	_, err := core.ConfigMaps(
		"default",
	).Create(
		ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x", Finalizers: []string{"example.com/bucket"}}},
		metav1.CreateOptions{},
	)
	must(t, err)
	api := dyn(t, c.admin("root")).Resource(spacesGVR)
	must(t, api.Delete(ctx, "gone", metav1.DeleteOptions{}))
	within(t, time.Minute, "refusal to delete", func() bool {
		s, err := api.Get(ctx, "gone", metav1.GetOptions{})
		return err == nil && strings.Contains(fmt.Sprint(s.Object["status"]), "configmaps default/x")
	})
	_, err = core.ConfigMaps("default").Get(ctx, "x", metav1.GetOptions{})
	check(t, err)
	_, err = api.Patch(
		ctx,
		"gone",
		types.MergePatchType,
		[]byte(`{"spec":{"deletionPolicy":"Delete"}}`),
		metav1.PatchOptions{},
	)
	must(t, err)
	within(t, time.Minute, "deletion of the space", func() bool {
		_, err := api.Get(ctx, "gone", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	events, err := clients(t, c.admin("root")).CoreV1().Events("default").List(ctx, metav1.ListOptions{})
	must(t, err)
	if !slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
		return e.Reason == "FinalizersSkipped" && e.InvolvedObject.Name == "gone" &&
			strings.HasSuffix(e.Message, "stays: configmaps default/x (example.com/bucket)")
	}) {
		t.Errorf("no Event says what is left behind: %v", events.Items)
	}
	keys, err := c.api.Keys(ctx, "gone")
	must(t, err)
	if len(keys) != 0 {
		t.Errorf("left in a deleted space: %v", keys)
	}
	nothingLeft(t, c, "gone")
	if keys, _ = c.api.Keys(ctx, "team"); len(keys) == 0 {
		t.Error("another space was emptied")
	}
}

// journal is a ChangeHandler that remembers.
type journal struct {
	mu       sync.Mutex
	snapshot map[store.Key]store.Write
	writes   []store.Write
	reached  int64
}

func (j *journal) Reset(revision int64, all store.Listing) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.snapshot, j.reached = map[store.Key]store.Write{}, revision
	for w := range all.Objects(nil) {
		j.snapshot[w.Key] = w
	}
}

func (j *journal) Apply(w store.Write) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.writes = append(j.writes, w)
}

func (j *journal) Progress(revision int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.reached = revision
}

// TestChanges checks that the center's own view of all writes is complete, ordered and decoded.
func TestChanges(t *testing.T) {
	c := start(t, t.TempDir(), newAuthority(t), nil)
	c.createSpace("one", "Retain")
	ctx := t.Context()
	apps := clients(t, c.admin("one")).AppsV1().Deployments("default")
	_, err := apps.Create(ctx, deployment("first"), metav1.CreateOptions{})
	must(t, err)
	follow, cancel := context.WithCancel(ctx)
	j := &journal{}
	done := make(chan error, 1)
	go func() { done <- c.api.Changes(follow, j) }()
	within(t, time.Minute, "snapshot", func() bool { j.mu.Lock(); defer j.mu.Unlock(); return j.snapshot != nil })
	w := j.snapshot[webKey("one")]
	if w.Kind != "Deployment" || w.APIVersion != "apps/v1" || w.Object["kind"] != "Deployment" ||
		fmt.Sprint(w.Revision) != rv(w.Object) {
		t.Errorf("snapshot: %+v", w)
	}
	for k := range j.snapshot {
		if k.Space == "skerry.dev" {
			t.Errorf("the center's own definitions show up: %v", k)
		}
	}
	const n = 50
	for i := range n {
		_, err := apps.Patch(
			ctx,
			"web",
			types.MergePatchType,
			fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, i+10),
			metav1.PatchOptions{},
		)
		must(t, err)
	}
	p := object("skerry.dev/v1alpha1", "Placement", "", "p")
	p.Object["spec"] = map[string]any{
		"objects": []any{map[string]any{}},
		"targets": map[string]any{"names": []any{"a"}},
	}
	_, err = dyn(t, c.admin("one")).Resource(placementsGVR).Create(ctx, p, metav1.CreateOptions{})
	must(t, err)
	must(t, apps.Delete(ctx, "web", metav1.DeleteOptions{}))
	head, err := c.store.Revision(ctx)
	must(t, err)
	within(t, time.Minute, "writes", func() bool { j.mu.Lock(); defer j.mu.Unlock(); return j.reached >= head })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Changes ended with %v", err)
	}
	var replicas []any
	last := int64(0)
	for _, w := range j.writes {
		if w.Revision <= last {
			t.Errorf("revision %d after %d", w.Revision, last)
		}
		last = w.Revision
		if w.Key == webKey("one") && w.Object != nil {
			replicas = append(replicas, w.Object["spec"].(map[string]any)["replicas"])
		}
	}
	if len(replicas) != n || fmt.Sprint(replicas[0], replicas[n-1]) != fmt.Sprint(10, n+9) {
		t.Errorf("replicas as seen: %v", replicas)
	}
	tail := j.writes[len(j.writes)-2:]
	if tail[0].Kind != "Placement" || tail[0].Key.Space != "one" || tail[1].Key != webKey("one") ||
		tail[1].Object != nil {
		t.Errorf("last writes: %+v", tail)
	}
}

func rv(o map[string]any) string {
	return fmt.Sprint(o["metadata"].(map[string]any)["resourceVersion"])
}
