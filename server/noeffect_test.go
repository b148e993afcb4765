package server_test

import (
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// doesNothing: who applies what will do nothing is warned, and told what to do instead.
func doesNothing(t *testing.T, c *center) {
	ctx, told := t.Context(), &warnings{}
	user := func(space string) *kubernetes.Clientset {
		config := c.admin(space)
		config.WarningHandlerWithContext = told
		return clients(t, config)
	}
	warned := func(what, text string, err error) {
		t.Helper()
		if got := told.take(); err != nil || !strings.Contains(got, text) || (text == "") != (got == "") {
			t.Errorf("%s: warned %q, %v", what, got, err)
		}
	}
	d := deployment("i")
	d.Name = "nothing"
	_, err := user("team").CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-public"}}, metav1.CreateOptions{})
	check(t, err)
	_, err = user("team").AppsV1().Deployments("kube-public").Create(ctx, d, metav1.CreateOptions{})
	warned("a workload in kube-public", "use a namespace of another name", err)
	_, err = user("team").AppsV1().Deployments("kube-system").Create(ctx, d, metav1.CreateOptions{})
	warned("a workload in kube-system", "", err)
	_, err = user("team").AppsV1().Deployments("default").Create(ctx, d, metav1.CreateOptions{})
	warned("a workload", "", err)
	_, err = user("root").AppsV1().Deployments("default").Create(ctx, d, metav1.CreateOptions{})
	warned("a workload in root", "skerry space create", err)
	_, err = clients(
		t,
		c.api.Loopback("root"),
	).AppsV1().Deployments(
		"kube-system",
	).Create(
		ctx,
		d,
		metav1.CreateOptions{},
	)
	check(t, err)
	b := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "op"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: "op", Namespace: "default"}},
	}
	_, err = user("team").RbacV1().RoleBindings("default").Create(ctx, b, metav1.CreateOptions{})
	warned("rights of a ServiceAccount, whose pods use the API of the space", "", err)
	hooks := user("team").AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err = hooks.Create(ctx, podHook("nothing"), metav1.CreateOptions{})
	warned("a webhook of Pods", "workloads make their pods at sites", err)
	check(t, hooks.Delete(ctx, "nothing", metav1.DeleteOptions{}))
	_, err = user(
		"team",
	).CoreV1().ConfigMaps(
		"kube-system",
	).Create(
		ctx,
		configMap("nothing", nil),
		metav1.CreateOptions{},
	)
	warned("a ConfigMap in kube-system", "", err)
}

// podHook is a webhook that nothing answers and whose failures are ignored.
func podHook(name string) *admissionv1.ValidatingWebhookConfiguration {
	none, ignore, url := admissionv1.SideEffectClassNone, admissionv1.Ignore, "https://203.0.113.1/"
	return &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "pods.example.com", ClientConfig: admissionv1.WebhookClientConfig{URL: &url},
			AdmissionReviewVersions: []string{"v1"}, SideEffects: &none, FailurePolicy: &ignore,
			ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"no": "pod"}},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
		}},
	}
}
