package policy

import (
	"fmt"
	"testing"

	"skerry.dev/skerry/tunnel"
)

// What tenants try next at a site with the default policy: each of these is refused, and allowed where
// the site opens it.
func TestWhatReachesPastASpace(t *testing.T) {
	closed := compile(t, tunnel.Allow{}, nil)
	open := compile(t, tunnel.Allow{PodSecurity: []string{"shop=privileged"}, ExternalIPs: true}, nil)
	template := func(metadata, spec string) string {
		return fmt.Sprintf(`{"spec":{"template":{"metadata":%s,"spec":%s}}}`, metadata, spec)
	}
	annotated := func(key, value string) string {
		return fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}},"spec":{}}`, key, value)
	}
	const ingress, fine = "ingresses.networking.k8s.io", `{"containers":[{"name":"a"}]}`
	for _, c := range []struct{ name, kind, body string }{
		{"Pods nobody can delete", "deployments.apps", template(`{"finalizers":["a.b/c"]}`, fine)},
		{"the same by a CronJob", "cronjobs.batch", `{"spec":{"jobTemplate":` + template(`{"finalizers":["a.b/c"]}`, fine) + `}}`},
		{"claims nobody can delete", "statefulsets.apps",
			`{"spec":{"volumeClaimTemplates":[{"metadata":{"finalizers":["a.b/c"]},"spec":{}}]}}`},
		{"the same by an ephemeral volume", "jobs.batch", template(`{}`, `{"containers":[{"name":"a"}],"volumes":[{"name":"v",
			"ephemeral":{"volumeClaimTemplate":{"metadata":{"finalizers":["a.b/c"]},"spec":{}}}}]}`)},
		{"an address by MetalLB", "services", annotated("metallb.universe.tf/loadBalancerIPs", "10.0.0.1")},
		{"somebody's address by MetalLB", "services", annotated("metallb.io/allow-shared-ip", "theirs")},
		{"an address by Cilium", "services", annotated("lbipam.cilium.io/ips", "10.0.0.1")},
		{"an address by kube-vip", "services", annotated("kube-vip.io/loadbalancerIPs", "10.0.0.1")},
		{"code in nginx", ingress, annotated("nginx.ingress.kubernetes.io/configuration-snippet", "x")},
		{"code in the server of nginx", ingress, annotated("nginx.ingress.kubernetes.io/server-snippet", "x")},
		{"code in another nginx", ingress, annotated("nginx.org/location-snippets", "x")},
		{"code in haproxy", ingress, annotated("haproxy-ingress.github.io/config-backend", "x")},
		{"somebody's Secret", ingress, annotated("nginx.ingress.kubernetes.io/auth-secret", "kube-system/admin")},
		{"somebody's key", ingress, annotated("nginx.ingress.kubernetes.io/proxy-ssl-secret", "bank/tls")},
		{"a probe of the node's network", "deployments.apps", template(`{}`, `{"containers":[{"name":"a","livenessProbe":
			{"httpGet":{"host":"169.254.169.254","port":80}}}]}`)},
		{"a hook of the node's network", "pods", `{"spec":{"containers":[{"name":"a","lifecycle":{"postStart":
			{"httpGet":{"host":"127.0.0.1","port":10255}}}}]}}`},
	} {
		if closed.Object("shop", "app", c.kind, []byte(c.body), func(string) bool { return true }) == nil {
			t.Errorf("%s is allowed", c.name)
		}
		if err := open.Object("shop", "app", c.kind, []byte(c.body), func(string) bool { return true }); err != nil {
			t.Errorf("%s cannot be opened: %v", c.name, err)
		}
	}
	for _, c := range []struct{ name, kind, body string }{
		{"a Pod's own finalizers, which do not travel", "pods", `{"metadata":{"finalizers":["a.b/c"]},"spec":` + fine + `}`},
		{"a load balancer's other annotations", "services", annotated("metallb.io/other", "x")},
		{"a redirect", ingress, annotated("nginx.ingress.kubernetes.io/permanent-redirect", "https://a/b")},
		{"a Secret of its own", ingress, annotated("nginx.ingress.kubernetes.io/auth-secret", "app/users")},
		{"a Secret beside it", ingress, annotated("nginx.ingress.kubernetes.io/auth-secret", "users")},
		{"an annotation of somebody else", ingress, annotated("example.com/x-snippet", "x")},
	} {
		if err := closed.Object("shop", "app", c.kind, []byte(c.body), func(string) bool { return true }); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// What a site's admin says of a namespace is not a space's to say.
func TestNamespacesBringNoRoles(t *testing.T) {
	p := compile(t, tunnel.Allow{}, nil)
	for _, key := range []string{"iam.amazonaws.com/permitted", "iam.amazonaws.com/allowed-roles",
		"cnrm.cloud.google.com/project-id", "openpolicyagent.org/webhook", "k8s.ovn.org/routing-external-gws"} {
		if len(p.Annotations(map[string]string{key: "x"})) > 0 || p.Labels("shop", map[string]string{key: "x"})[key] != "" {
			t.Errorf("%s is taken", key)
		}
	}
}

// A CSI driver that mounts what a Pod names is the site's to open, by the label that Kubernetes has for it.
func TestInlineVolumesOfDrivers(t *testing.T) {
	body := []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"a"}],"volumes":[{"name":"v","csi":{
		"driver":"nfs.csi.k8s.io","volumeAttributes":{"server":"10.0.0.1","share":"/"}}}]}}}}`)
	if got := InlineDrivers("deployments.apps", body); len(got) != 1 || got[0] != "nfs.csi.k8s.io" {
		t.Fatalf("drivers %q", got)
	}
	for _, c := range []struct {
		allow           tunnel.Allow
		profile, reason string
	}{
		{tunnel.Allow{}, "", ReasonField}, {tunnel.Allow{}, "nonsense", ReasonField},
		{tunnel.Allow{}, "privileged", ReasonField}, {tunnel.Allow{}, "baseline", ""}, {tunnel.Allow{}, "restricted", ""},
		{tunnel.Allow{PodSecurity: []string{"restricted"}}, "baseline", ReasonField},
		{tunnel.Allow{VolumeNames: true}, "", ""}, {tunnel.Allow{PodSecurity: []string{"privileged"}}, "", ""},
	} {
		refused(t, compile(t, c.allow, nil).InlineDriver("shop", "nfs.csi.k8s.io", c.profile), c.reason, "")
	}
}
