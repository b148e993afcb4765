package server_test

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/tunnel/exchange"
)

// podSites are sites below a relay that have Pod web-1 with the container web. Views of it are not
// recorded; what is asked of it is, with the path.
type podSites struct{ askedSites }

func (s *podSites) Do(ctx context.Context, target string, r *exchange.Request) (*http.Response, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	at := strings.Join(append([]string{target}, r.Path...), "/")
	if r.Verb != exchange.View {
		return s.askedSites.Do(ctx, at, r)
	}
	if r.Query.Get(exchange.OptionName) != "web-1" {
		return (&exchange.Fault{Code: 404, Reason: "NotFound", Message: "no such pod at " + at}).Response(), nil
	}
	return answerOf(at, 200, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-1","namespace":"t-default",
		"uid":"u-there","annotations":{"skerry.dev/reported-from":"elsewhere","skerry.dev/reported-as":"x"}},
		"spec":{"nodeName":"n","containers":[{"name":"web","image":"i"}]}}`), nil
}

func (s *podSites) Serve(
	w http.ResponseWriter, req *http.Request, target string, r *exchange.Request, begun func(string, int),
) {
	s.askedSites.Serve(w, req, strings.Join(append([]string{target}, r.Path...), "/"), r, begun)
}

// TestPodsOfViews: at a site that a view names, logs are read and processes run in Pods that the
// space does not mirror. Options, RBAC, admission and the audit log are those of the space.
func TestPodsOfViews(t *testing.T) {
	asked := &podSites{}
	c, audited := startReaching(t, asked, "Retain")
	admin, viewer := at(c.admin("team"), "eu/paris"), at(c.as("team", "vera"), "eu/paris")
	_, err := clients(t, c.admin("team")).RbacV1().RoleBindings("default").Create(t.Context(),
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "vera"},
			RoleRef:  rbacv1.RoleRef{Kind: "ClusterRole", Name: "view", APIGroup: rbacv1.GroupName},
			Subjects: []rbacv1.Subject{{Kind: "User", Name: "vera"}}}, metav1.CreateOptions{})
	must(t, err)
	pods, tail := clients(t, viewer).CoreV1().Pods("default"), int64(3)
	log, err := pods.GetLogs("web-1", &corev1.PodLogOptions{TailLines: &tail}).DoRaw(t.Context())
	if want := "eu/paris team/default/web-1 u-there log tailLines=3 as vera"; err != nil || string(log) != "a line\n" ||
		asked.last() != want {
		t.Errorf("log: %q, %v; not asked %q", log, err, want)
	}
	for what, c := range map[string]struct {
		pod, container string
		is             func(error) bool
	}{
		"no such Pod":        {"web-2", "", apierrors.IsNotFound},
		"no such container":  {"web-1", "db", apierrors.IsBadRequest},
		"lines below zero":   {"web-1", "web", apierrors.IsInvalid},
		"a name of a parent": {"..", "web", func(err error) bool { return err != nil }},
	} {
		o := &corev1.PodLogOptions{Container: c.container}
		if less := int64(-1); what == "lines below zero" {
			o.TailLines = &less
		}
		if _, err := pods.GetLogs(c.pod, o).DoRaw(t.Context()); !c.is(err) || asked.last() != "" {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		runs(t, admin, method, "web-1")
		want := "eu/paris team/default/web-1 u-there exec command=mysql&command=-psecret&stdout=true as admin"
		if got := asked.last(); got != want {
			t.Errorf("exec by %s: asked %q", method, got)
		}
		if why := runs(t, viewer, method, "web-1"); asked.last() != "" {
			t.Errorf("who may view runs a process: %s", why)
		}
	}
	if err := clients(t, admin).CoreV1().Pods("default").Delete(t.Context(), "web-1",
		metav1.DeleteOptions{}); !apierrors.IsMethodNotSupported(err) || asked.last() != "" {
		t.Errorf("a view deletes: %v", err)
	}
	refusesConnect(t, c, &asked.askedSites, admin, "web-1")
	c.stop()
	text, err := os.ReadFile(audited)
	must(t, err)
	if lines := string(text); !strings.Contains(lines, `"skerry.dev/pod":"web-1"`) ||
		!strings.Contains(lines, `"skerry.dev/site":"eu`) || strings.Contains(lines, "secret") {
		t.Errorf("the audit log:\n%s", lines)
	}
}
