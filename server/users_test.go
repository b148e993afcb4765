package server_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	jose "gopkg.in/go-jose/go-jose.v2"
	"gopkg.in/go-jose/go-jose.v2/jwt"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"skerry.dev/skerry/server/admin"
	"skerry.dev/skerry/server/api/v1alpha1"
	apirequest "skerry.dev/skerry/server/apiserver/request"
)

// handedOut is a center, and the folder of the files that `skerry space kubeconfig` wrote.
type handedOut struct {
	*center
	dir string
}

// adminFile writes the kubeconfig that an admin of the center has.
func (h *handedOut) adminFile() string {
	c := h.admin("root")
	out := clientcmdapi.NewConfig()
	out.Clusters["root"] = &clientcmdapi.Cluster{Server: c.Host, CertificateAuthorityData: c.CAData}
	out.AuthInfos["admin"] = &clientcmdapi.AuthInfo{ClientCertificateData: c.CertData, ClientKeyData: c.KeyData}
	out.Contexts["root"] = &clientcmdapi.Context{Cluster: "root", AuthInfo: "admin"}
	out.CurrentContext = "root"
	path := filepath.Join(h.dir, "admin.kubeconfig")
	must(h.t, clientcmd.WriteToFile(*out, path))
	return path
}

// kubeconfig makes a kubeconfig for a user of team, on behalf of who owns the kubeconfig by.
func (h *handedOut) kubeconfig(by, user, role string) string {
	h.t.Helper()
	path := filepath.Join(h.dir, user+".kubeconfig")
	must(
		h.t,
		admin.SpaceKubeconfig(
			h.t.Context(),
			admin.KubeconfigOptions{Kubeconfig: by, Space: "team", User: user, Role: role,
				TTL: time.Hour, File: path, Out: &bytes.Buffer{}},
		),
	)
	return path
}

// in is what a kubeconfig opens in a space.
func (h *handedOut) in(path, space string) *rest.Config {
	h.t.Helper()
	c, err := clientcmd.BuildConfigFromFlags("", path)
	must(h.t, err)
	c.Host, c.QPS = apirequest.URL(h.url, space), -1
	return c
}

func (h *handedOut) client(path, space string) *kubernetes.Clientset {
	h.t.Helper()
	return clients(h.t, h.in(path, space))
}

// TestUsers: a kubeconfig of a space is good for that space alone, gives what was granted, and
// ends.
func TestUsers(t *testing.T) {
	c := start(t, t.TempDir(), newAuthority(t), nil)
	for _, s := range []string{"team", "team-b"} {
		c.createSpace(s, "Delete")
	}
	h := &handedOut{c, t.TempDir()}
	root := h.adminFile()
	alice, boss := h.kubeconfig(root, "alice", "edit"), h.kubeconfig(root, "boss", "cluster-admin")
	t.Run("file", func(t *testing.T) { handedFile(t, alice) })
	t.Run("rights", func(t *testing.T) { handedRights(t, h, alice, boss) })
	t.Run("escalation", func(t *testing.T) { handedEscalation(t, h, alice) })
	t.Run("renewable", func(t *testing.T) { handedRenewable(t, h, root, alice) })
	t.Run("tenant's own users", func(t *testing.T) { handedByTenant(t, h, boss) })
	t.Run("expiry", func(t *testing.T) { handedExpired(t, h, alice) })
	t.Run("grants", func(t *testing.T) { grants(t, h, root) })
	t.Run("revocation", func(t *testing.T) { handedRevoked(t, h, root, alice) })
}

// handedFile: nobody else reads the file, and it has nothing of the admin's.
func handedFile(t *testing.T, path string) {
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %o", info.Mode().Perm())
	}
	data, err := os.ReadFile(path)
	must(t, err)
	for _, secret := range []string{"client-certificate", "client-key", "admin"} {
		if strings.Contains(string(data), secret) {
			t.Errorf("it holds %q", secret)
		}
	}
}

func handedRights(t *testing.T, h *handedOut, alice, boss string) {
	ctx := t.Context()
	who, err := h.client(
		alice,
		"team",
	).AuthenticationV1().SelfSubjectReviews().Create(
		ctx,
		&authenticationv1.SelfSubjectReview{},
		metav1.CreateOptions{},
	)
	must(t, err)
	if u := who.Status.UserInfo; u.Username != "alice" || len(u.Groups) != 1 || u.Groups[0] != "system:authenticated" {
		t.Errorf("alice is %+v", u)
	}
	within(t, time.Minute, "alice may write", func() bool {
		_, err := h.client(
			alice,
			"team",
		).CoreV1().ConfigMaps(
			"default",
		).Create(
			ctx,
			configMap("hers", nil),
			metav1.CreateOptions{},
		)
		return err == nil || apierrors.IsAlreadyExists(err)
	})
	if _, err := h.client(alice, "team").CoreV1().Namespaces().Create(
		ctx,
		namespace("more"),
		metav1.CreateOptions{},
	); !apierrors.IsForbidden(
		err,
	) {
		t.Errorf("more than the role edit: %v", err)
	}
	_, err = h.client(boss, "team").CoreV1().Namespaces().Create(ctx, namespace("more"), metav1.CreateOptions{})
	check(t, err)
	for _, space := range []string{"team-b", "root"} {
		for _, file := range []string{alice, boss} {
			_, err := h.client(file, space).CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
			if !apierrors.IsUnauthorized(err) {
				t.Errorf("%s in %s: %v", filepath.Base(file), space, err)
			}
		}
	}
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// handedEscalation: the role edit, which may act as every account of a space, does not make alice
// the user boss, who is its admin.
func handedEscalation(t *testing.T, h *handedOut, alice string) {
	ctx, ns := t.Context(), v1alpha1.UsersNamespace
	accounts := h.client(alice, "team").CoreV1().ServiceAccounts(ns)
	try := map[string]error{}
	_, try["a token of boss"] = accounts.CreateToken(
		ctx,
		"boss",
		&authenticationv1.TokenRequest{},
		metav1.CreateOptions{},
	)
	_, try["another user"] = accounts.Create(
		ctx,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "mallory"}},
		metav1.CreateOptions{},
	)
	_, try["a Secret with a token of boss"] = h.client(alice, "team").CoreV1().Secrets(ns).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "x", Annotations: map[string]string{corev1.ServiceAccountNameKey: "boss"}},
		Type:       corev1.SecretTypeServiceAccountToken,
	}, metav1.CreateOptions{})
	try["an end of boss"] = accounts.Delete(ctx, "boss", metav1.DeleteOptions{})
	try["an end of all"] = accounts.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	_, try["a binding"] = h.client(
		alice,
		"team",
	).RbacV1().ClusterRoleBindings().Create(
		ctx,
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "x"},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "alice"}}},
		metav1.CreateOptions{},
	)
	for _, as := range []rest.ImpersonationConfig{
		{UserName: "boss"},
		{UserName: "system:serviceaccount:" + ns + ":boss"},
		{UserName: "alice", Groups: []string{"system:masters"}},
	} {
		config := h.in(alice, "team")
		config.Impersonate = as
		_, try["as "+as.UserName] = clients(
			t,
			config,
		).CoreV1().Namespaces().Create(
			ctx,
			namespace("taken"),
			metav1.CreateOptions{},
		)
	}
	for what, err := range try {
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	// Of other accounts she may have tokens, as everywhere in Kubernetes, and not for longer than a
	// day.
	year := int64(300 * 24 * 3600)
	token, err := h.client(
		alice,
		"team",
	).CoreV1().ServiceAccounts(
		"default",
	).CreateToken(
		ctx,
		"default",
		&authenticationv1.TokenRequest{
			Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &year}},
		metav1.CreateOptions{},
	)
	if apierrors.IsNotFound(err) {
		return // what makes the account does not run here
	}
	must(t, err)
	if *token.Spec.ExpirationSeconds > 24*3600 {
		t.Errorf("a token of an account for %d s", *token.Spec.ExpirationSeconds)
	}
}

// handedByTenant: the admin of a space makes users of it, without the admin of the center.
func handedByTenant(t *testing.T, h *handedOut, boss string) {
	colleague := h.kubeconfig(boss, "colleague", "view")
	within(t, time.Minute, "the colleague reads", func() bool {
		_, err := h.client(colleague, "team").CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
	for _, space := range []string{"team-b", "root"} {
		err := admin.SpaceKubeconfig(
			t.Context(),
			admin.KubeconfigOptions{
				Kubeconfig: boss,
				Space:      space,
				User:       "colleague",
				TTL:        time.Hour,
				Out:        &bytes.Buffer{},
			},
		)
		if err == nil {
			t.Errorf("the admin of team made a user of %s", space)
		}
	}
}

// handedExpired makes alice's token one that has ended two minutes ago.
func handedExpired(t *testing.T, h *handedOut, alice string) {
	parsed, err := jwt.ParseSigned(h.in(alice, "team").BearerToken)
	must(t, err)
	claims := map[string]any{}
	must(t, parsed.UnsafeClaimsWithoutVerification(&claims))
	signer, err := jose.NewSigner(
		jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: h.ca.sa, KeyID: parsed.Headers[0].KeyID}},
		nil,
	)
	must(t, err)
	for expires, allowed := range map[time.Duration]bool{time.Hour: true, -2 * time.Minute: false} {
		claims["exp"] = time.Now().Add(expires).Unix()
		claims["iat"], claims["nbf"] = time.Now().Add(-time.Hour).Unix(), time.Now().Add(-time.Hour).Unix()
		token, err := jwt.Signed(signer).Claims(claims).CompactSerialize()
		must(t, err)
		config := h.in(alice, "team")
		config.BearerToken = token
		_, err = clients(t, config).CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
		if allowed && err != nil || !allowed && !apierrors.IsUnauthorized(err) {
			t.Errorf("a token that ends in %s: %v", expires, err)
		}
	}
}

// grants: a user has one role in a place, which kubectl sees as a binding, and a dry run changes
// nothing.
func grants(t *testing.T, h *handedOut, root string) {
	ctx := t.Context()
	bindings := clients(t, h.admin("team")).RbacV1()
	grant := func(role, ns string, dry bool) {
		t.Helper()
		must(
			t,
			admin.GrantSpace(
				ctx,
				admin.GrantOptions{
					Kubeconfig: root,
					Space:      "team",
					User:       "oidc:https://id/#carol",
					Role:       role,
					Namespace:  ns,
					DryRun:     dry,
					Out:        &bytes.Buffer{},
				},
			),
		)
	}
	roles := func() (out []string) {
		all, err := bindings.ClusterRoleBindings().List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelUser})
		must(t, err)
		for _, b := range all.Items {
			if b.Subjects[0].Name == "oidc:https://id/#carol" {
				out = append(out, b.RoleRef.Name)
			}
		}
		return out
	}
	grant("admin", "", true)
	if got := roles(); len(got) > 0 {
		t.Errorf("a dry run granted %v", got)
	}
	grant("admin", "", false)
	grant("view", "", false)
	grant("view", "", false)
	grant("edit", "default", false)
	if got := roles(); len(got) != 1 || got[0] != "view" {
		t.Errorf("the roles are %v", got)
	}
	out := &bytes.Buffer{}
	must(t, admin.ListUsers(ctx, "team", admin.ListOptions{Kubeconfig: root, Out: out}))
	for _, line := range []string{
		`oidc:https://id/#carol   view            \*`,
		`oidc:https://id/#carol   edit            default`,
		`alice `,
		`of this space`,
	} {
		if !regexp.MustCompile(line).MatchString(out.String()) {
			t.Errorf("no %q in\n%s", line, out)
		}
	}
	revoke := admin.GrantOptions{Kubeconfig: root, Space: "team", User: "oidc:https://id/#carol", Out: &bytes.Buffer{}}
	must(t, admin.RevokeSpace(ctx, revoke))
	if got := roles(); len(got) > 0 {
		t.Errorf("after the revocation: %v", got)
	}
	if err := admin.RevokeSpace(ctx, revoke); err == nil || !strings.Contains(err.Error(), "has no user") {
		t.Errorf("a second revocation: %v", err)
	}
}

// handedRevoked: what was handed out ends within seconds, also when the user comes back; and who
// has rights by other means is named.
func handedRevoked(t *testing.T, h *handedOut, root, alice string) {
	old := h.in(alice, "team")
	bind(t, h.center, "team", "view", rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: "alice"})
	err := admin.RevokeSpace(
		t.Context(),
		admin.GrantOptions{Kubeconfig: root, Space: "team", User: "alice", Out: &bytes.Buffer{}},
	)
	if err == nil || !strings.Contains(err.Error(), "clusterrolebinding/b-") {
		t.Errorf("rights by another binding: %v", err)
	}
	refused := func(ctx context.Context) bool {
		_, err := clients(t, old).CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
		return apierrors.IsUnauthorized(err)
	}
	begin := time.Now()
	within(t, 5*time.Second, "alice is out", func() bool { return refused(t.Context()) })
	t.Logf("refused %s after the revocation", time.Since(begin).Round(time.Millisecond))
	h.kubeconfig(root, "alice", "view")
	within(t, time.Minute, "alice is back", func() bool {
		_, err := h.client(alice, "team").CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
	if !refused(t.Context()) {
		t.Error("the kubeconfig from before the revocation is good again")
	}
}
