package server_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// heldRights: eve, who has all rights in a space, has its admission rules refuse that anybody takes them:
// by a policy, and by a webhook that never answers. The admin of the center takes them all the same.
func heldRights(t *testing.T, c *center) {
	eve, mallory := attackers(t, c, "held")
	ctx, admin := t.Context(), clients(t, c.admin("held"))
	_, err := admin.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-users"}}, metav1.CreateOptions{})
	must(t, err)
	_, err = admin.CoreV1().ServiceAccounts("kube-users").Create(ctx,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "eve"}}, metav1.CreateOptions{})
	must(t, err)
	const rules = `[{"apiGroups":["","rbac.authorization.k8s.io"],"apiVersions":["v1"],"operations":["*"],
		"resources":["serviceaccounts","clusterrolebindings","rolebindings","configmaps"]}]`
	const registration = "/apis/admissionregistration.k8s.io/v1/"
	for path, body := range map[string]string{
		"validatingadmissionpolicies": `{"metadata":{"name":"hold"},"spec":{"failurePolicy":"Fail",
			"matchConstraints":{"resourceRules":` + rules + `},"validations":[{"expression":"false"}]}}`,
		"validatingadmissionpolicybindings": `{"metadata":{"name":"hold"},"spec":{"policyName":"hold",
			"validationActions":["Deny"]}}`,
		"validatingwebhookconfigurations": `{"webhooks":[{"name":"hold.example.com","sideEffects":"None",
			"failurePolicy":"Fail","timeoutSeconds":1,"admissionReviewVersions":["v1"],"rules":` + rules + `,
			"clientConfig":{"service":{"namespace":"default","name":"nobody"}}}],"metadata":{"name":"hold"}}`,
	} {
		if code, answer := eve.do("POST", registration+path, body); code != 201 {
			t.Fatal(path, code, answer)
		}
	}
	within(t, time.Minute, "her rules are asked", func() bool {
		_, err := admin.CoreV1().ConfigMaps("default").Create(ctx,
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "a-"}}, metav1.CreateOptions{})
		return err != nil
	})
	if code, _ := eve.do("DELETE", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/eve", ""); code < 400 {
		t.Error("her rules do not hold for herself")
	}
	must(t, admin.CoreV1().ServiceAccounts("kube-users").Delete(ctx, "eve", metav1.DeleteOptions{}))
	must(t, admin.RbacV1().RoleBindings("default").Delete(ctx, "mallory", metav1.DeleteOptions{}))
	_, err = admin.RbacV1().RoleBindings("default").Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "carol"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "carol"}},
	}, metav1.CreateOptions{})
	must(t, err)
	must(t, admin.RbacV1().ClusterRoleBindings().Delete(ctx, "eve", metav1.DeleteOptions{}))
	for _, who := range []*attacker{eve, mallory} {
		within(t, time.Minute, who.who.name+" has no rights", func() bool {
			code, _ := who.do("GET", "/api/v1/namespaces/default/configmaps", "")
			return code == 403
		})
	}
}
