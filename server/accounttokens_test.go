package server_test

import (
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"skerry.dev/skerry/server"
)

// TestTokenSecret: the token in a Secret is its ServiceAccount's, in its space alone, until the
// Secret is deleted.
func TestTokenSecret(t *testing.T) {
	(&atRest{t: t, dir: t.TempDir()}).run(func(s *server.Server, root *kubernetes.Clientset) {
		ctx := t.Context()
		_, err := dyn(t, s.Loopback("root")).Resource(spacesGVR).Create(ctx, object("skerry.dev/v1alpha1", "Space", "", "team"), metav1.CreateOptions{})
		must(t, err)
		var core corev1client.CoreV1Interface
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "robot-token", Annotations: map[string]string{corev1.ServiceAccountNameKey: "robot"}},
			Type: corev1.SecretTypeServiceAccountToken}
		within(t, time.Minute, "the space", func() bool {
			core = clients(t, s.Loopback("team")).CoreV1()
			_, err := core.Secrets("default").Create(ctx, secret, metav1.CreateOptions{})
			return err == nil
		})
		_, err = core.ServiceAccounts("default").Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, metav1.CreateOptions{})
		must(t, err)
		within(t, time.Minute, "the Secret is filled", func() bool {
			secret, err = core.Secrets("default").Get(ctx, "robot-token", metav1.GetOptions{})
			return err == nil && len(secret.Data["token"]) > 0 && len(secret.Data["ca.crt"]) > 0 && string(secret.Data["namespace"]) == "default"
		})
		who := func(space string) string {
			review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: string(secret.Data["token"])}}
			review, err := clients(t, s.Loopback(space)).AuthenticationV1().TokenReviews().Create(ctx, review, metav1.CreateOptions{})
			must(t, err)
			return review.Status.User.Username
		}
		if name := who("team"); name != "system:serviceaccount:default:robot" {
			t.Errorf("the token is %q's", name)
		}
		if name := who("root"); name != "" {
			t.Errorf("in another space the token is %q's", name)
		}
		must(t, core.Secrets("default").Delete(ctx, "robot-token", metav1.DeleteOptions{}))
		within(t, time.Minute, "the token of a deleted Secret is refused", func() bool { return who("team") == "" })
	})
}
