package server_test

import (
	"fmt"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"skerry.dev/skerry/server"
)

// TestTokenSecret: the token in a Secret is its ServiceAccount's, in its space alone, until the
// Secret is deleted.
func TestTokenSecret(t *testing.T) {
	(&atRest{t: t, dir: t.TempDir()}).run(func(s *server.Server, root *kubernetes.Clientset) {
		ctx := t.Context()
		_, err := dyn(t, s.Loopback("root")).Resource(spacesGVR).Create(ctx,
			object("skerry.dev/v1alpha1", "Space", "", "team"), metav1.CreateOptions{})
		must(t, err)
		var core corev1client.CoreV1Interface
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "robot-token",
			Annotations: map[string]string{corev1.ServiceAccountNameKey: "robot"}},
			Type: corev1.SecretTypeServiceAccountToken}
		within(t, time.Minute, "the space", func() bool {
			core = clients(t, s.Loopback("team")).CoreV1()
			_, err := core.Secrets("default").Create(ctx, secret, metav1.CreateOptions{})
			return err == nil
		})
		_, err = core.ServiceAccounts("default").Create(ctx,
			&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, metav1.CreateOptions{})
		must(t, err)
		within(t, time.Minute, "the Secret is filled", func() bool {
			secret, err = core.Secrets("default").Get(ctx, "robot-token", metav1.GetOptions{})
			return err == nil && len(secret.Data["token"]) > 0 && len(secret.Data["ca.crt"]) > 0 &&
				string(secret.Data["namespace"]) == "default"
		})
		who := func(space string) string {
			review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: string(secret.Data["token"])}}
			review, err := clients(t, s.Loopback(space)).AuthenticationV1().TokenReviews().Create(ctx, review,
				metav1.CreateOptions{})
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

// TestTokensOfOthers: neither a Secret nor a request for a token leads to an account of another
// namespace or space, to one that is made later, or to a site.
func TestTokensOfOthers(t *testing.T) {
	(&atRest{t: t, dir: t.TempDir()}).run(func(s *server.Server, root *kubernetes.Clientset) {
		ctx, api := t.Context(), map[string]corev1client.CoreV1Interface{}
		for _, name := range []string{"team", "team-b"} {
			_, err := dyn(t, s.Loopback("root")).Resource(spacesGVR).Create(ctx,
				object("skerry.dev/v1alpha1", "Space", "", name), metav1.CreateOptions{})
			must(t, err)
			api[name] = clients(t, s.Loopback(name)).CoreV1()
			for account, in := range map[string]string{"robot": "default", "power": "kube-system"} {
				within(t, time.Minute, "the account "+account, func() bool {
					_, err := api[name].ServiceAccounts(in).Create(ctx,
						&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}, metav1.CreateOptions{})
					return err == nil || apierrors.IsAlreadyExists(err)
				})
			}
		}
		_, err := api["team-b"].ServiceAccounts("default").Create(ctx,
			&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}}, metav1.CreateOptions{})
		must(t, err)
		secrets := api["team"].Secrets("default")
		add := func(name, account, uid string, kind corev1.SecretType) {
			notes := map[string]string{corev1.ServiceAccountNameKey: account}
			if uid != "" {
				notes[corev1.ServiceAccountUIDKey] = uid
			}
			_, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name,
				Annotations: notes}, Type: kind}, metav1.CreateOptions{})
			must(t, err)
		}
		hostile := []string{
			"power", "theirs", "kube-system/power", "../kube-system/power",
			"../../kube-system/serviceaccounts/power", "kube-system:power",
			"system:serviceaccount:kube-system:power",
			"../../../../../../clusters/team-b/api/v1/namespaces/default/serviceaccounts/theirs",
			"..%2f..%2fkube-system%2fserviceaccounts%2fpower", "team-b/default/theirs", "robot/token", "robot?x=y",
			"robot#", "robot ", " robot", "Robot", "ROBOT", ".", "..", "*",
			"robot,power", "robot\nother", "default/robot",
		}
		for i, account := range hostile {
			add(fmt.Sprintf("hostile-%d", i), account, "", corev1.SecretTypeServiceAccountToken)
		}
		add("opaque", "robot", "", corev1.SecretTypeOpaque)
		theirs, err := api["team-b"].ServiceAccounts("default").Get(ctx, "robot", metav1.GetOptions{})
		must(t, err)
		add("forged", "robot", string(theirs.UID), corev1.SecretTypeServiceAccountToken)
		add("honest", "robot", "", corev1.SecretTypeServiceAccountToken)
		within(t, time.Minute, "the honest Secret is filled, and the forged one gone", func() bool {
			honest, err := secrets.Get(ctx, "honest", metav1.GetOptions{})
			_, gone := secrets.Get(ctx, "forged", metav1.GetOptions{})
			return err == nil && len(honest.Data["token"]) > 0 && apierrors.IsNotFound(gone)
		})
		all, err := secrets.List(ctx, metav1.ListOptions{})
		must(t, err)
		for _, o := range all.Items {
			if o.Name != "honest" && len(o.Data["token"]) > 0 {
				t.Errorf("%s has a token of %q", o.Name, o.Annotations[corev1.ServiceAccountNameKey])
			}
		}
		_, err = secrets.Patch(ctx, "opaque", types.MergePatchType,
			[]byte(`{"type":"kubernetes.io/service-account-token"}`), metav1.PatchOptions{})
		if !apierrors.IsInvalid(err) {
			t.Errorf("a Secret of another type: %v", err)
		}
		for _, bound := range []authenticationv1.BoundObjectReference{
			{APIVersion: "v1", Kind: "Node", Name: "oslo"}, {APIVersion: "v1", Kind: "Pod", Name: "hook"},
			{APIVersion: "v1", Kind: "Secret", Name: "not-there"},
			{APIVersion: "v1", Kind: "Secret", Name: "honest", UID: theirs.UID},
			{APIVersion: "v1", Kind: "ConfigMap", Name: "x"},
		} {
			got, err := api["team"].ServiceAccounts("default").CreateToken(ctx, "robot", &authenticationv1.TokenRequest{
				Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: &bound}}, metav1.CreateOptions{})
			if err == nil {
				t.Errorf("a token that is bound to %v: %s", bound, got.Status.Token)
			}
		}
	})
}
