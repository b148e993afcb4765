package server_test

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"skerry.dev/skerry/server/admin"
	"skerry.dev/skerry/server/api/v1alpha1"
)

// handedRenewable: a user whose account is renewable requests tokens for it, and for no other. The
// others of the space do not.
func handedRenewable(t *testing.T, h *handedOut, root, alice string) {
	ctx := t.Context()
	path := filepath.Join(h.dir, "rae.kubeconfig")
	must(t, admin.SpaceKubeconfig(ctx, admin.KubeconfigOptions{Kubeconfig: root, Space: "team", User: "rae", Role: "view",
		TTL: time.Hour, Renewable: true, File: path, Out: &bytes.Buffer{}}))
	request := func(by, space, account string, life time.Duration) (time.Duration, error) {
		seconds := int64(life / time.Second)
		got, err := h.client(by, space).CoreV1().ServiceAccounts(v1alpha1.UsersNamespace).CreateToken(ctx, account,
			&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}},
			metav1.CreateOptions{})
		if err != nil {
			return 0, err
		}
		return time.Until(got.Status.ExpirationTimestamp.Time), nil
	}
	within(t, 10*time.Second, "rae's account is known to be renewable", func() bool {
		_, err := request(path, "team", "rae", time.Hour)
		return err == nil
	})
	const month = 30 * 24 * time.Hour
	if life, err := request(path, "team", "rae", 300*24*time.Hour); err != nil || life > month || life < month-time.Minute {
		t.Errorf("a renewed token lives for %s: %v", life, err)
	}
	for what, c := range map[string]struct{ by, account string }{
		"the account of another user":      {path, "alice"},
		"an account that is not renewable": {alice, "alice"},
		"of another user's renewable one":  {alice, "rae"},
		"an account that does not exist":   {path, "nobody"},
	} {
		if _, err := request(c.by, "team", c.account, time.Hour); !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := request(path, "team-b", "rae", time.Hour); !apierrors.IsUnauthorized(err) {
		t.Errorf("in another space: %v", err)
	}
	patch := []byte(`{"metadata":{"annotations":{"skerry.dev/renewable":"true"}}}`)
	if _, err := h.client(alice, "team").CoreV1().ServiceAccounts(v1alpha1.UsersNamespace).Patch(ctx, "alice",
		types.MergePatchType, patch, metav1.PatchOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("alice makes her own account renewable: %v", err)
	}
	must(t, admin.RevokeSpace(ctx, admin.GrantOptions{Kubeconfig: root, Space: "team", User: "rae", Out: &bytes.Buffer{}}))
	within(t, 10*time.Second, "rae is revoked", func() bool {
		_, err := request(path, "team", "rae", time.Hour)
		return apierrors.IsUnauthorized(err)
	})
}
