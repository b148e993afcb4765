package server_test

import (
	"log/slog"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server"
	"skerry.dev/skerry/server/apiserver"
	"skerry.dev/skerry/store"
)

// Who writes an Ingress hears what of it the center does not serve. Its status says nothing of that.
func TestUnservedIngressesWarn(t *testing.T) {
	c := start(t, t.TempDir(), newAuthority(t), nil, func(c *apiserver.Config) {
		c.Unserved = func(k store.Key, obj map[string]any) string {
			return "not served: " + k.Namespace + "/" + k.Name + " " + obj["spec"].(map[string]any)["ingressClassName"].(string)
		}
	})
	told := &warnings{}
	config := c.admin("root")
	config.WarningHandlerWithContext = told
	api := clients(t, config).NetworkingV1().Ingresses("default")
	class, ctx := "skerry", t.Context()
	in, err := api.Create(ctx, &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: networkingv1.IngressSpec{IngressClassName: &class, DefaultBackend: &networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}}}}},
		metav1.CreateOptions{})
	must(t, err)
	if text := told.take(); !strings.Contains(text, "not served: default/web skerry") {
		t.Errorf("warned of %q", text)
	}
	in.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: "192.0.2.1"}}
	_, err = api.UpdateStatus(ctx, in, metav1.UpdateOptions{})
	must(t, err)
	if text := told.take(); text != "" {
		t.Errorf("the status warned of %q", text)
	}
}

// An address that is not free is refused before anything is served.
func TestIngressAddressesAreRefusedAtOnce(t *testing.T) {
	_, err := server.New(server.Config{DataDir: t.TempDir(), Listen: "127.0.0.1:0",
		Ingress: server.Ingress{Listen: []string{"127.0.0.1:0", "192.0.2.77:0"}}, Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "--ingress-listen") {
		t.Errorf("an address of no interface: %v", err)
	}
}
