package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// runs asks for a process as kubectl does over SPDY or by WebSocket, and returns why it got none.
func runs(t *testing.T, config *rest.Config, method, pod string) string {
	t.Helper()
	var err error
	req := clients(
		t,
		config,
	).CoreV1().
		RESTClient().
		Get().
		Resource("pods").
		Namespace("default").
		Name(pod).
		SubResource("exec").
		Param("command", "mysql").
		Param("command", "-psecret").
		Param("stdout", "true")
	var executor remotecommand.Executor
	if method == http.MethodGet {
		executor, err = remotecommand.NewWebSocketExecutor(config, method, req.URL().String())
	} else {
		executor, err = remotecommand.NewSPDYExecutor(config, method, req.URL())
	}
	must(t, err)
	err = executor.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: io.Discard})
	if err == nil {
		t.Fatal("a process runs")
	}
	return err.Error()
}

// TestPodsAreReached: what a center asks a site for, of whom, and for whom.
func TestPodsAreReached(t *testing.T) {
	asked := &askedSites{}
	c, audited := startReaching(t, asked, "Retain")
	mirror := c.mirror("team", "web-1.paris", reported("paris", "web-1"))
	c.mirror("team", "lost", reported("away", "web-1"))
	user := clients(t, c.admin("team")).CoreV1().Pods("default")
	viewer := c.as("team", "vera")
	_, err := clients(
		t,
		c.admin("team"),
	).RbacV1().
		RoleBindings("default").
		Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "vera"},
			RoleRef: rbacv1.RoleRef{
				Kind:     "ClusterRole",
				Name:     "view",
				APIGroup: rbacv1.GroupName,
			}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "vera"}}}, metav1.CreateOptions{})
	must(t, err)
	want := func(what, verb, rest string) {
		t.Helper()
		if got := asked.last(); got != "paris team/default/web-1 u-1 "+verb+rest {
			t.Errorf("%s: asked %q", what, got)
		}
	}

	tail := int64(3)
	log, err := clients(
		t,
		viewer,
	).CoreV1().
		Pods("default").
		GetLogs("web-1.paris", &corev1.PodLogOptions{TailLines: &tail, Follow: true}).
		DoRaw(t.Context())
	if err != nil || string(log) != "a line\n" {
		t.Errorf("log: %q, %v", log, err)
	}
	want("log", "log", " follow=true&tailLines=3 as vera")

	for _, method := range []string{http.MethodGet, http.MethodPost} {
		runs(t, c.admin("team"), method, "web-1.paris")
		want("exec by "+method, "exec", " command=mysql&command=-psecret&stdout=true as admin")
		if why := runs(t, viewer, method, "web-1.paris"); asked.last() != "" {
			t.Errorf("who may view runs a process: %s", why)
		}
		if runs(t, c.admin("other"), method, "web-1.paris"); asked.last() != "" {
			t.Error("another space runs a process")
		}
	}
	// Who may get pods/exec, and not create it, opens no WebSocket either.
	_, err = clients(
		t,
		c.admin("team"),
	).RbacV1().
		Roles("default").
		Create(t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "get"},
			Rules: []rbacv1.PolicyRule{
				{APIGroups: []string{""}, Resources: []string{"pods/exec"}, Verbs: []string{"get"}},
			}}, metav1.CreateOptions{})
	must(t, err)
	_, err = clients(
		t,
		c.admin("team"),
	).RbacV1().
		RoleBindings("default").
		Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "get"},
			RoleRef: rbacv1.RoleRef{
				Kind:     "Role",
				Name:     "get",
				APIGroup: rbacv1.GroupName,
			}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "vera"}}}, metav1.CreateOptions{})
	must(t, err)
	if runs(t, viewer, http.MethodGet, "web-1.paris"); asked.last() != "" {
		t.Error("who may only get pods/exec runs a process")
	}

	grace := int64(7)
	must(
		t,
		user.Delete(
			t.Context(),
			"web-1.paris",
			metav1.DeleteOptions{
				GracePeriodSeconds: &grace,
				Preconditions:      &metav1.Preconditions{UID: &mirror.UID},
			},
		),
	)
	want("deletion", "delete", " gracePeriodSeconds=7 as admin")
	wrong := types.UID("another")
	if err := user.Delete(t.Context(), "web-1.paris",
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}}); !apierrors.IsConflict(
		err,
	) ||
		asked.last() != "" {
		t.Errorf("deletion of another Pod: %v", err)
	}
	must(t, user.DeleteCollection(
		t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name=web-1.paris"}))
	want("deletion of all that a selector names", "delete", " as admin")
	if err := clients(t, viewer).CoreV1().Pods("default").Delete(t.Context(), "web-1.paris",
		metav1.DeleteOptions{}); !apierrors.IsForbidden(
		err,
	) ||
		asked.last() != "" {
		t.Errorf("deletion by who may view: %v", err)
	}
	must(
		t,
		user.EvictV1(
			t.Context(),
			&policyv1.Eviction{
				ObjectMeta: metav1.ObjectMeta{Name: "web-1.paris", Namespace: "default"},
			},
		),
	)
	want("eviction", "eviction", " as admin")
	patch := `{"metadata":{"annotations":{"` + v1alpha1.AnnotationReportedFrom +
		`":"away"}},"spec":{"nodeName":"x","ephemeralContainers":[{"name":"look","image":"i"}]}}`
	_, err = user.Patch(
		t.Context(),
		"web-1.paris",
		types.StrategicMergePatchType,
		[]byte(patch),
		metav1.PatchOptions{},
		"ephemeralcontainers",
	)
	must(t, err)
	if got := asked.last(); !strings.Contains(
		got,
		`paris team/default/web-1 u-1 ephemeralcontainers  [{"name":"look","image":"i",`,
	) ||
		strings.Contains(got, "nodeName") {
		t.Errorf("debugging: asked %q", got)
	}
	still, err := user.Get(t.Context(), "web-1.paris", metav1.GetOptions{})
	if must(t, err); still.ResourceVersion != mirror.ResourceVersion {
		t.Error("what the site is to carry out was written here")
	}

	err = user.GetLogs("lost", &corev1.PodLogOptions{}).Do(t.Context()).Error()
	if !apierrors.IsServiceUnavailable(err) ||
		!strings.Contains(err.Error(), "site away cannot be reached") {
		t.Errorf("a site that is away: %v", err)
	}
	asked.last()
	if _, err := user.GetLogs("web-1.paris",
		&corev1.PodLogOptions{InsecureSkipTLSVerifyBackend: true}).DoRaw(t.Context()); !apierrors.IsBadRequest(
		err,
	) ||
		asked.last() != "" {
		t.Errorf("a site is asked to trust every kubelet: %v", err)
	}
	refusesConnect(t, c, asked, c.admin("team"), "web-1.paris")
	c.stop()
	auditedStreams(t, audited)
}

// refusesConnect: an admission policy of the space is asked about CONNECT.
func refusesConnect(t *testing.T, c *center, asked *askedSites, as *rest.Config, pod string) {
	api := clients(t, c.admin("team")).AdmissionregistrationV1()
	connect := admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Connect},
		Rule: admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
			Resources: []string{"pods/exec"}},
	}}
	_, err := api.ValidatingAdmissionPolicies().Create(t.Context(), &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "no-shells"},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				ResourceRules: []admissionv1.NamedRuleWithOperations{connect}},
			Validations: []admissionv1.Validation{
				{Expression: "object.command[0] != 'mysql'", Message: "no databases"}},
		}}, metav1.CreateOptions{})
	must(t, err)
	_, err = api.ValidatingAdmissionPolicyBindings().Create(t.Context(),
		&admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "no-shells"},
			Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: "no-shells",
				ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}}}, metav1.CreateOptions{})
	must(t, err)
	within(t, time.Minute, "the policy refuses", func() bool {
		asked.last()
		why := runs(t, as, http.MethodPost, pod)
		return strings.Contains(why, "no databases") && asked.last() == ""
	})
}

// auditedStreams: who has reached into which Pod, where, and no argument of what ran.
func auditedStreams(t *testing.T, path string) {
	text, err := os.ReadFile(path)
	must(t, err)
	if strings.Contains(string(text), "secret") {
		t.Error("the audit log has the arguments of a command")
	}
	found := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		var e struct {
			Annotations map[string]string
			ObjectRef   struct{ Name, Subresource string }
			User        struct{ Username string }
		}
		must(t, json.Unmarshal([]byte(line), &e))
		if e.Annotations["skerry.dev/site"] == "paris/below" &&
			e.Annotations["skerry.dev/space"] == "team" &&
			e.Annotations["skerry.dev/pod"] == "web-1" {
			found[e.ObjectRef.Subresource+" "+e.User.Username+" "+e.Annotations["skerry.dev/container"]] = true
		}
	}
	for _, want := range []string{"log vera c", "exec admin c", "ephemeralcontainers admin c",
		"eviction admin c", " admin c"} {
		if !found[want] {
			t.Errorf("no line of %q: %v", want, found)
		}
	}
}
