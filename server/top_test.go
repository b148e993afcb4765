package server_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/tunnel/exchange"
)

var podMetrics = schema.GroupVersionResource{Group: "metrics.k8s.io", Version: "v1beta1", Resource: "pods"}

// measuringSites are oslo and bergen, which have a metrics-server, bare, which has none, and others,
// which are away. Each has Pods web and db in namespace default.
type measuringSites struct{ askedSites }

func (s *measuringSites) Do(_ context.Context, target string, r *exchange.Request) (*http.Response, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	s.record(target + " " + r.Space + "/" + r.Namespace + " " + r.Query.Get("name") + " as " + r.User)
	one := func(name string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"default"},"timestamp":"2026-01-01T00:00:00Z","window":"30s",`+
			`"containers":[{"name":"c","usage":{"cpu":"%dm","memory":"11Mi"}}]}`, name, len(target))
	}
	code, body := 200, `{"kind":"PodMetricsList","items":[`+one("web")+","+one("db")+`]}`
	switch {
	case target == "bare":
		code, body = 404, `{"kind":"Status","reason":"NotFound","message":"it has no metrics-server"}`
	case target != "oslo" && target != "bergen":
		return nil, &exchange.Fault{Code: 503, Reason: "ServiceUnavailable", After: 10, Message: "site " + target +
			" cannot be reached: its agent is not connected; last heard of at 2026-01-01T00:00:00Z"}
	case r.Query.Has("name"):
		body = one(r.Query.Get("name"))
	}
	return answerOf(target, code, body), nil
}

// warned collects warnings.
type warned struct {
	mu    sync.Mutex
	texts []string
}

func (w *warned) HandleWarningHeader(_ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

// TestTop: what Pods use is served in the space under the Pods' names there, by the space's RBAC.
// Sites that say nothing are named, and where none says anything there is no empty list.
func TestTop(t *testing.T) {
	sites := &measuringSites{}
	c, _ := startReaching(t, sites, "Delete")
	c.mirror("team", "web.oslo", reported("oslo", "web"))
	c.mirror("team", "web.bergen", reported("bergen", "web"))
	labelled := c.mirror("team", "db", reported("bergen", "db"))
	c.mirror("team", "unmeasured", reported("oslo", "new"))
	c.mirror("team", "far", reported("away", "web"))
	c.mirror("team", "near", reported("bare", "web"))
	ended := c.mirror("team", "ended", reported("done", "web"))
	c.mirror("other", "web", reported("oslo", "web"))
	team := clients(t, c.api.Loopback("team")).CoreV1().Pods("default")
	labelled.Labels = map[string]string{"app": "db"}
	_, err := team.Update(t.Context(), labelled, metav1.UpdateOptions{})
	must(t, err)
	ended.Status.Phase = corev1.PodSucceeded
	_, err = team.UpdateStatus(t.Context(), ended, metav1.UpdateOptions{})
	must(t, err)

	admin := c.admin("team")
	list := func(config *rest.Config, namespace string, o metav1.ListOptions) ([]string, []string, error) {
		t.Helper()
		said := &warned{}
		config = rest.CopyConfig(config)
		config.WarningHandler = said
		found, err := dyn(t, config).Resource(podMetrics).Namespace(namespace).List(t.Context(), o)
		if err != nil {
			return nil, said.texts, err
		}
		var out []string
		for _, i := range found.Items {
			containers, _, _ := unstructured.NestedSlice(i.Object, "containers")
			used := containers[0].(map[string]any)["usage"].(map[string]any)
			out = append(out, fmt.Sprint(i.GetName(), " ", used["cpu"], " ", i.GetLabels()["app"]))
		}
		return out, said.texts, nil
	}
	for _, namespace := range []string{"default", ""} {
		got, texts, err := list(admin, namespace, metav1.ListOptions{})
		must(t, err)
		if !slices.Equal(got, []string{"db 6m db", "web.bergen 6m ", "web.oslo 4m "}) {
			t.Errorf("in %q: %q", namespace, got)
		}
		if len(texts) != 2 || !strings.HasPrefix(texts[0], "away: no metrics of 1 pod: site away cannot be reached") ||
			!strings.Contains(texts[0], "last heard of at 2026") ||
			texts[1] != "bare: no metrics of 1 pod: site bare: it has no metrics-server" {
			t.Errorf("warnings %q", texts)
		}
		user := " team/" + namespace + "  as " // "done" is not asked: its Pod has ended
		if asked := sites.asked(); len(asked) != 4 || !strings.HasPrefix(asked[2], "bergen"+user) {
			t.Errorf("asked %q", asked)
		}
	}
	got, texts, err := list(admin, "default", metav1.ListOptions{LabelSelector: "app=db"})
	if asked := sites.asked(); err != nil || !slices.Equal(got, []string{"db 6m db"}) || texts != nil || len(asked) != 1 {
		t.Errorf("by label: %q, %q, %v; asked %q", got, texts, err, asked)
	}
	got, _, err = list(admin, "", metav1.ListOptions{FieldSelector: "metadata.name=web.oslo"})
	if asked := sites.asked(); err != nil || len(got) != 1 || len(asked) != 1 {
		t.Errorf("by field: %q, %v; asked %q", got, err, asked)
	}
	if got, texts, err := list(admin, "kube-system", metav1.ListOptions{}); err != nil || got != nil || texts != nil {
		t.Errorf("where there are no Pods: %q, %q, %v", got, texts, err)
	}
	_, _, err = list(admin, "default", metav1.ListOptions{FieldSelector: "metadata.name=far"})
	if !apierrors.IsServiceUnavailable(err) || !strings.Contains(err.Error(), "site away cannot be reached") {
		t.Errorf("a site that is away: %v", err)
	}
	sites.asked()

	d := dyn(t, admin).Resource(podMetrics)
	one, err := d.Namespace("default").Get(t.Context(), "web.bergen", metav1.GetOptions{})
	if asked := sites.asked(); err != nil || one.GetName() != "web.bergen" ||
		!slices.Equal(asked, []string{"bergen team/default web as " + userOf(asked)}) {
		t.Errorf("one: %v, %v; asked %q", one, err, asked)
	}
	for name, is := range map[string]func(error) bool{
		"far": apierrors.IsServiceUnavailable, "near": apierrors.IsNotFound, "nobody": apierrors.IsNotFound,
		"ended": apierrors.IsNotFound,
	} {
		if _, err := d.Namespace("default").Get(t.Context(), name, metav1.GetOptions{}); !is(err) {
			t.Errorf("pod %s: %v", name, err)
		}
	}
	_, err = dyn(t, admin).Resource(podMetrics.GroupVersion().WithResource("nodes")).List(t.Context(),
		metav1.ListOptions{})
	if !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "a space has no metrics of nodes") {
		t.Errorf("nodes: %v", err)
	}
	sites.asked()

	// Who may view may see; nobody else.
	rbac := clients(t, admin).RbacV1()
	_, err = rbac.RoleBindings("default").Create(t.Context(),
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "vera"},
			RoleRef:  rbacv1.RoleRef{Kind: "ClusterRole", Name: "view", APIGroup: rbacv1.GroupName},
			Subjects: []rbacv1.Subject{{Kind: "User", Name: "vera"}}}, metav1.CreateOptions{})
	must(t, err)
	if got, _, err := list(c.as("team", "vera"), "default", metav1.ListOptions{}); err != nil || len(got) != 3 {
		t.Errorf("who may view: %q, %v", got, err)
	}
	sites.asked()
	_, _, everywhere := list(c.as("team", "vera"), "", metav1.ListOptions{})
	_, _, stranger := list(c.as("team", "sven"), "default", metav1.ListOptions{})
	if asked := sites.asked(); !apierrors.IsForbidden(everywhere) || !apierrors.IsForbidden(stranger) || asked != nil {
		t.Errorf("all namespaces: %v; a stranger: %v; asked %q", everywhere, stranger, asked)
	}

	// It is read, and nothing else: what cleans up passes it by.
	lists, err := clients(t, admin).Discovery().ServerResourcesForGroupVersion("metrics.k8s.io/v1beta1")
	must(t, err)
	if len(lists.APIResources) != 1 || !slices.Equal(lists.APIResources[0].Verbs, []string{"get", "list"}) {
		t.Errorf("resources %+v", lists.APIResources)
	}
	namespaces := clients(t, admin).CoreV1().Namespaces()
	_, err = namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "brief"}},
		metav1.CreateOptions{})
	must(t, err)
	must(t, namespaces.Delete(t.Context(), "brief", metav1.DeleteOptions{}))
	within(t, 20*time.Second, "the end of a namespace", func() bool {
		_, err := namespaces.Get(t.Context(), "brief", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	if asked := sites.asked(); asked != nil {
		t.Errorf("discovery and deletion asked sites: %q", asked)
	}
}

// userOf is the user of the last request.
func userOf(asked []string) string {
	if len(asked) == 0 {
		return ""
	}
	_, user, _ := strings.Cut(asked[len(asked)-1], " as ")
	return user
}
