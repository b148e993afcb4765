package server_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server"
	"skerry.dev/skerry/server/apiserver"
	"skerry.dev/skerry/server/namespacedefaults"
)

// TestAdmission drives what a space's own rules do to requests: one center serves all parts, each
// in a space of its own.
func TestAdmission(t *testing.T) {
	var c *center
	f := namespacedefaults.New(
		namespacedefaults.Config{
			Log:        slog.New(slog.DiscardHandler),
			Bundle:     func() []byte { return []byte("authorities") },
			Has:        func(string) bool { return true },
			API:        server.NamespaceDefaultsAPI(func(space string) *rest.Config { return c.api.Loopback(space) }),
			Namespaces: func(ctx context.Context, space string) ([]string, error) { return c.api.Namespaces(ctx, space) },
		},
	)
	c = start(t, t.TempDir(), newAuthority(t), nil, func(config *apiserver.Config) {
		config.Used, config.Seats, config.Outbound, config.EventTTL = f.Use, 8, loopbackAllowed(), 2*time.Second
	})
	ctx, cancel := context.WithCancel(t.Context())
	var controllers sync.WaitGroup
	controllers.Go(func() { f.Run(ctx) })
	for _, handler := range append(c.api.Counters(), f) {
		controllers.Go(func() { c.api.Changes(ctx, handler) })
	}
	defer func() { cancel(); controllers.Wait(); c.stop() }()
	for _, part := range []struct {
		name string
		test func(*testing.T, *center, string)
	}{
		{
			"furnished",
			furnished,
		}, {"roles", roles}, {"pages", knownPages}, {
			"policies",
			policies,
		}, {"types", typeChecks}, {"finished", jobTTL}, {"hooks", hooks}, {"events", eventTTL}, {
			"security",
			podSecurity,
		}, {"quotas", quotas}, {"quota", spaceQuota}, {"fairness", fairness}, {"inert", inert},
	} {
		t.Run(part.name, func(t *testing.T) {
			c.createSpace(part.name, "Delete")
			part.test(t, c, part.name)
		})
	}
}

// furnished: the ServiceAccount and the ConfigMap of every namespace.
func furnished(t *testing.T, c *center, space string) {
	ctx := t.Context()
	names := func() (out []string) {
		keys, err := c.api.Keys(ctx, space)
		must(t, err)
		for _, k := range keys {
			if k.Resource == "serviceaccounts" || k.Resource == "configmaps" {
				out = append(out, k.Namespace+"/"+k.Name)
			}
		}
		return out
	}
	api := clients(t, c.admin(space)).CoreV1()
	_, err := api.Namespaces().List(ctx, metav1.ListOptions{})
	must(t, err)
	if have := names(); len(have) > 0 {
		t.Errorf("a space that nobody uses has %v", have)
	}
	token, err := api.ServiceAccounts(
		"default",
	).CreateToken(
		ctx,
		"default",
		&authenticationv1.TokenRequest{},
		metav1.CreateOptions{},
	)
	must(t, err)
	if token.Status.Token == "" {
		t.Error("no token")
	}
	// The namespace kube-system may be as new as the request.
	within(t, time.Minute, "both namespaces are furnished", func() bool { return len(names()) == 5 })
	_, err = clients(t, c.admin(space)).RbacV1().Roles("kube-system").
		Get(ctx, "extension-apiserver-authentication-reader", metav1.GetOptions{})
	must(t, err)
	_, err = api.Namespaces().Create(
		ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "web"}},
		metav1.CreateOptions{},
	)
	must(t, err)
	within(t, time.Minute, "a new namespace is furnished", func() bool {
		_, err := api.ServiceAccounts("web").Get(ctx, "default", metav1.GetOptions{})
		cm, err2 := api.ConfigMaps("web").Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		return err == nil && err2 == nil && cm.Data["ca.crt"] == "authorities"
	})
	must(t, api.ServiceAccounts("web").Delete(ctx, "default", metav1.DeleteOptions{}))
	within(t, time.Minute, "what is deleted is made again", func() bool {
		_, err := api.ServiceAccounts("web").Get(ctx, "default", metav1.GetOptions{})
		return err == nil
	})
	must(t, api.Namespaces().Delete(ctx, "web", metav1.DeleteOptions{}))
	within(t, time.Minute, "a furnished namespace goes", func() bool {
		_, err := api.Namespaces().Get(ctx, "web", metav1.GetOptions{})
		return err != nil
	})
}
