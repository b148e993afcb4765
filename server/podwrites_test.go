package server_test

import (
	"context"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
)

// bornMarks are those of an object that target paris reported.
func bornMarks() map[string]string {
	return map[string]string{
		v1alpha1.AnnotationReportedFrom: "paris",
		exchange.ReportedUID:            "u-1",
		"kept":                          "yes",
	}
}

func placePods(_ context.Context, _ string, k store.Key, _ metav1.Object) (targets, unit string) {
	return placedIf(k.Resource == "pods", "paris")
}

// TestPodsAreWritten: what a center asks a site to change of what was born there, and what it
// refuses by itself.
func TestPodsAreWritten(t *testing.T) {
	asked := &askedSites{}
	c := start(t, t.TempDir(), newAuthority(t), placePods, func(config *apiserver.Config) { config.Sites = asked })
	c.createSpace("team", "Retain")
	c.mirror("team", "web-1", bornMarks())
	pods := clients(t, c.admin("team")).CoreV1().Pods("default")
	patch := func(how types.PatchType, body string, sub ...string) (*corev1.Pod, error) {
		return pods.Patch(t.Context(), "web-1", how, []byte(body), metav1.PatchOptions{}, sub...)
	}
	want := func(what, rest string) {
		t.Helper()
		if got := asked.last(); got != "paris team/default/web-1 u-1 "+rest+" as admin" {
			t.Errorf("%s: asked %q", what, got)
		}
	}
	refused := func(what, words string, err error) {
		t.Helper()
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), words) || asked.last() != "" {
			t.Errorf("%s: %v, want %s", what, err, words)
		}
	}

	got, err := patch(types.StrategicMergePatchType,
		`{"metadata":{"labels":{"role":"primary"},"annotations":{"kept":null}}}`)
	if must(t, err); got.Labels["role"] != "primary" || got.Annotations["kept"] != "" {
		t.Errorf("the answer has %v, %v", got.Labels, got.Annotations)
	}
	want("patch", `change  {"labels":{"role":"primary"},"annotations":{"kept":null}}`)
	_, err = pods.Patch(t.Context(), "web-1", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`),
		metav1.PatchOptions{DryRun: []string{"All"}})
	must(t, err)
	want("dry run", `change dryRun=All {"labels":{"a":"b"}}`)
	pod, err := pods.Get(t.Context(), "web-1", metav1.GetOptions{})
	must(t, err)
	pod.Annotations = map[string]string{"kept": "no"} // as if made of a file, without marks
	_, err = pods.Update(t.Context(), pod, metav1.UpdateOptions{})
	must(t, err)
	want("update", `change  {"annotations":{"kept":"no"}}`)
	pod.ResourceVersion = "1"
	if _, err := pods.Update(t.Context(), pod, metav1.UpdateOptions{}); !apierrors.IsConflict(err) || asked.last() != "" {
		t.Errorf("an update of an older version: %v", err)
	}
	if _, err = patch(types.MergePatchType, `{"metadata":{"labels":{"role":null}}}`); err != nil || asked.last() != "" {
		t.Errorf("nothing to change: %v", err)
	}

	_, err = patch(types.StrategicMergePatchType, `{"spec":{"containers":[{"name":"c","image":"other"}]}}`)
	refused("an image", "spec: Forbidden: it was born at SyncTarget", err)
	_, err = patch(types.MergePatchType, `{"metadata":{"finalizers":["orphan"]}}`)
	refused("a finalizer of the garbage collector", "garbage collector decides", err)
	_, err = patch(types.MergePatchType, `{"metadata":{"finalizers":["no/such/name"]}}`)
	refused("a finalizer that is none", "metadata.finalizers", err)
	many := `"a.example/x` + strings.Join(strings.Split(strings.Repeat("b", 33), ""), `","a.example/y`) + `"`
	_, err = patch(types.MergePatchType, `{"metadata":{"finalizers":[`+many+`]}}`)
	refused("many finalizers", "metadata.finalizers", err)
	_, err = patch(types.MergePatchType, `{"metadata":{"labels":{"skerry.dev/target":"oslo"}}}`)
	refused("a mark", "only the center", err)
	_, err = patch(types.MergePatchType, `{"metadata":{"annotations":{"`+v1alpha1.AnnotationReportedFrom+`":"away"}}}`)
	refused("the mark of its place", "only the center", err)
	_, err = patch(types.MergePatchType, `{"metadata":{"labels":{"no/such/name":"x"}}}`)
	refused("a label that is none", "metadata.labels", err)

	_, err = patch(types.StrategicMergePatchType,
		`{"status":{"phase":"Failed","conditions":[{"type":"gate","status":"True"}]}}`, "status")
	must(t, err)
	want("a readiness gate", `change  {"conditions":[{"type":"gate","status":"True"}]}`)

	got, err = patch(types.MergePatchType, `{"metadata":{"finalizers":["a.example/b"]}}`)
	if must(t, err); len(got.Finalizers) != 1 || asked.last() != "" {
		t.Errorf("finalizers %v; asked %q", got.Finalizers, asked.last())
	}
	must(t, clients(t, c.api.Loopback("team")).CoreV1().Pods("default").
		Delete(t.Context(), "web-1", *metav1.NewDeleteOptions(0))) // its target has it no more
	if pod, err = pods.Get(t.Context(), "web-1", metav1.GetOptions{}); err != nil || pod.DeletionTimestamp == nil {
		t.Errorf("it does not wait for its finalizer: %v", err)
	}
	_, err = patch(types.MergePatchType, `{"metadata":{"finalizers":["a.example/b","a.example/c"]}}`)
	refused("one more for what is going", "metadata.finalizers", err)
	_, err = patch(types.MergePatchType, `{"metadata":{"finalizers":null}}`)
	if must(t, err); asked.last() != "" {
		t.Errorf("asked %q", asked.last())
	}
	if _, err = pods.Get(t.Context(), "web-1", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("it stays without a finalizer: %v", err)
	}
	c.mirror("team", "web-1", bornMarks())

	heard := &warnings{}
	applying := c.admin("team")
	applying.WarningHandlerWithContext = heard
	_, err = clients(t, applying).CoreV1().Pods("default").Patch(t.Context(), "web-1", types.ApplyPatchType,
		[]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-1","labels":{"tier":"front"}}}`),
		metav1.PatchOptions{FieldManager: "op"})
	must(t, err)
	want("server-side apply", `change  {"labels":{"tier":"front"}}`)
	if text := heard.take(); !strings.Contains(text, "what you leave out") {
		t.Errorf("a server-side apply is answered with the warnings %q", text)
	}
	_, err = clients(t, applying).CoreV1().Pods("default").Patch(t.Context(), "web-1", types.ApplyPatchType,
		[]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-1"},"spec":{"nodeName":"x"}}`),
		metav1.PatchOptions{FieldManager: "op", Force: new(true)})
	refused("an applied field", "spec: Forbidden", err)
	orphan := metav1.DeletePropagationOrphan
	must(t, pods.Delete(t.Context(), "web-1", metav1.DeleteOptions{PropagationPolicy: &orphan}))
	want("a Pod that owns nothing", "delete propagationPolicy=Orphan")

	viewer := clients(t, c.as("team", "vera")).CoreV1().Pods("default")
	_, err = viewer.Patch(t.Context(), "web-1", types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
	if !apierrors.IsForbidden(err) || asked.last() != "" {
		t.Errorf("a label by who may not: %v", err)
	}
	writesOfJobs(t, c, asked)
	writesOfPlaced(t, c, asked)
	claimsOfNamespaces(t, c, asked)
}

// claimsOfNamespaces: the claims that a site made for a Namespace go with it. Those in a Namespace of
// a parent stay, because it may be placed elsewhere.
func claimsOfNamespaces(t *testing.T, c *center, asked *askedSites) {
	api, own := clients(t, c.admin("team")).CoreV1(), clients(t, c.api.Loopback("team")).CoreV1()
	for name, want := range map[string]string{
		"own": "paris team/own/data-db-0 u-1 delete", "passing": "",
	} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if want == "" {
			ns.Annotations = map[string]string{v1alpha1.AnnotationOrigin: "team/"}
		}
		_, err := api.Namespaces().Create(t.Context(), ns, metav1.CreateOptions{})
		must(t, err)
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data-db-0", Annotations: bornMarks()}}
		_, err = own.PersistentVolumeClaims(name).Create(t.Context(), claim, metav1.CreateOptions{})
		must(t, err)
		asked.last()
		must(t, api.Namespaces().Delete(t.Context(), name, metav1.DeleteOptions{}))
		within(t, time.Minute, "the Namespace "+name+" is gone", func() bool {
			_, err := api.Namespaces().Get(t.Context(), name, metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
		if got := asked.last(); want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("Namespace %s: a site was asked %q", name, got)
		}
	}
}

// writesOfJobs: a Job that a CronJob made at its site, and a claim that a template made there.
func writesOfJobs(t *testing.T, c *center, asked *askedSites) {
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	_, err := clients(t, c.api.Loopback("team")).BatchV1().Jobs("default").Create(t.Context(),
		&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "web-1", Annotations: bornMarks()},
			Spec: batchv1.JobSpec{Template: template}}, metav1.CreateOptions{})
	must(t, err)
	jobs := clients(t, c.admin("team")).BatchV1().Jobs("default")
	background, orphan := metav1.DeletePropagationBackground, metav1.DeletePropagationOrphan
	err = jobs.Delete(t.Context(), "web-1", metav1.DeleteOptions{PropagationPolicy: &orphan})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "--cascade=background") || asked.last() != "" {
		t.Errorf("a Job of a site that would leave its Pods: %v", err)
	}
	yes := true
	//lint:ignore SA1019 old clients send it
	old := metav1.DeleteOptions{OrphanDependents: &yes}
	if err := jobs.Delete(t.Context(), "web-1", old); !apierrors.IsForbidden(err) {
		t.Errorf("the old way to leave them: %v", err)
	}
	must(t, jobs.Delete(t.Context(), "web-1", metav1.DeleteOptions{PropagationPolicy: &background}))
	if got := asked.last(); got != "paris team/default/web-1 u-1 delete propagationPolicy=Background as admin" {
		t.Errorf("asked %q", got)
	}
	_, err = jobs.Patch(t.Context(), "web-1", types.MergePatchType, []byte(`{"spec":{"suspend":true}}`),
		metav1.PatchOptions{})
	if !apierrors.IsInvalid(err) || asked.last() != "" {
		t.Errorf("a Job of a site is suspended: %v", err)
	}
	_, err = jobs.Create(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "own"},
		Spec: batchv1.JobSpec{Template: template}}, metav1.CreateOptions{})
	must(t, err)
	must(t, jobs.Delete(t.Context(), "own", metav1.DeleteOptions{PropagationPolicy: &background}))
	if got := asked.last(); got != "" {
		t.Errorf("of the space's own Job a site was asked %q", got)
	}
}

// writesOfPlaced: a Pod that was itself placed is changed here; its eviction is the site's to allow.
func writesOfPlaced(t *testing.T, c *center, asked *askedSites) {
	pods := clients(t, c.admin("team")).CoreV1().Pods("default")
	make := func(name string) *corev1.Pod {
		pod, err := pods.Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}, metav1.CreateOptions{})
		must(t, err)
		return pod
	}
	pod := make("bare")
	if pod.Annotations[exchange.Targets] == "" {
		t.Fatalf("it is placed nowhere: %v", pod.Annotations)
	}
	_, err := pods.Patch(t.Context(), "bare", types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
	must(t, err)
	if got := asked.last(); got != "" {
		t.Errorf("of a label a site was asked %q", got)
	}
	must(t, pods.EvictV1(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "bare",
		Namespace: "default"}}))
	if got := asked.last(); !strings.Contains(got, "team/default/bare  eviction") {
		t.Errorf("of an eviction a site was asked %q", got)
	}
	record, err := c.store.Client().Client.Get(t.Context(), "/registry/skerry.dev/deletions/team/"+string(pod.UID))
	if must(t, err); len(record.Kvs) == 0 {
		t.Error("that the eviction names the Pod is not recorded: its site may hold the deletion")
	}
	grace := func(name string) int64 {
		t.Helper()
		pod, err := pods.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || pod.DeletionTimestamp == nil {
			t.Fatalf("%s is not being deleted: %v", name, err)
		}
		return *pod.DeletionGracePeriodSeconds
	}
	if g := grace("bare"); g != 30 {
		t.Errorf("grace period %d", g)
	}
	must(t, pods.Delete(t.Context(), "bare", metav1.DeleteOptions{}))
	now, short := int64(0), int64(3)
	own := clients(t, c.api.Loopback("team")).CoreV1().Pods("default")
	must(t, own.Delete(t.Context(), "bare", metav1.DeleteOptions{GracePeriodSeconds: &now}))
	gone := func(name string) {
		t.Helper()
		if _, err := pods.Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("%s is still there: %v", name, err)
		}
	}
	gone("bare")
	make("short")
	must(t, pods.Delete(t.Context(), "short", metav1.DeleteOptions{GracePeriodSeconds: &short}))
	if g := grace("short"); g != 3 {
		t.Errorf("grace period %d", g)
	}
	must(t, pods.Delete(t.Context(), "short", metav1.DeleteOptions{GracePeriodSeconds: &now}))
	gone("short")
	make("with-namespace")
	must(t, own.DeleteCollection(t.Context(), metav1.DeleteOptions{},
		metav1.ListOptions{FieldSelector: "metadata.name=with-namespace"}))
	gone("with-namespace")

	// A mirror is shown to end, and no longer than until it has gone.
	c.mirror("team", "ending", bornMarks())
	must(t, own.Delete(t.Context(), "ending", metav1.DeleteOptions{GracePeriodSeconds: &short}))
	if g := grace("ending"); g != 3 {
		t.Errorf("grace period %d", g)
	}
	patch := `[{"op":"add","path":"/spec/nodeName","value":"m"},{"op":"add","path":"/status/observedGeneration","value":5}]`
	shown, err := own.Patch(t.Context(), "ending", types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	if must(t, err); shown.Generation != 5 {
		t.Errorf("generation %d", shown.Generation)
	}
	must(t, own.Delete(t.Context(), "ending", metav1.DeleteOptions{GracePeriodSeconds: &now}))
	gone("ending")
	c.mirror("team", "bound", bornMarks())
	shown, err = own.Patch(t.Context(), "bound", types.JSONPatchType,
		[]byte(`[{"op":"add","path":"/spec/nodeName","value":"m"},{"op":"add","path":"/status/observedGeneration","value":1}]`), metav1.PatchOptions{})
	if must(t, err); shown.Generation != 1 {
		t.Errorf("a Pod that got its node has generation %d, and nobody observes it", shown.Generation)
	}
}
