package policy

import (
	"slices"
	"testing"

	"skerry.dev/skerry/tunnel"
)

// What objects take from the network of a site, and where they lead it.
func TestExposing(t *testing.T) {
	for _, c := range []struct {
		name, kind, body string
		hosts, backends  []string
	}{
		{"an Ingress", "ingresses.networking.k8s.io", `{"spec":{"rules":[{"host":"B.test.","http":{"paths":[
			{"backend":{"service":{"name":"b"}}},{"backend":{"service":{"name":"a"}}}]}},{"host":"a.test"},{"host":"b.test"}]}}`,
			[]string{"a.test", "b.test"}, []string{"a", "b"}},
		{"its default", "ingresses.networking.k8s.io", `{"spec":{"defaultBackend":{"service":{"name":"x"}}}}`,
			[]string{""}, []string{"x"}},
		{"a rule without host", "ingresses.networking.k8s.io", `{"spec":{"rules":[{}]}}`, []string{""}, nil},
		{"aliases", "ingresses.networking.k8s.io", `{"metadata":{"annotations":{
			"nginx.ingress.kubernetes.io/server-alias":"x.test, y.test","external-dns.alpha.kubernetes.io/hostname":"z.test"}},
			"spec":{}}`, []string{"x.test", "y.test", "z.test"}, nil},
		{"a Gateway", "gateways.gateway.networking.k8s.io", `{"spec":{"listeners":[{"hostname":"*.a.test"},{"name":"any"}]}}`,
			[]string{"*.a.test"}, nil},
		{"a route", "httproutes.gateway.networking.k8s.io", `{"metadata":{"namespace":"app"},"spec":{"hostnames":["a.test"],
			"parentRefs":[{"namespace":"infra"}],"rules":[{"backendRefs":[{"name":"s"},{"kind":"Other","name":"o"}],
			"filters":[{"requestMirror":{"backendRef":{"kind":"Service","name":"m"}}}]}]}}`, []string{"a.test"}, []string{"m", "s"}},
		{"a route for all of a Gateway of the site", "tlsroutes.gateway.networking.k8s.io",
			`{"metadata":{"namespace":"app"},"spec":{"parentRefs":[{"namespace":"infra"}]}}`, []string{""}, nil},
		{"a route for all of its own Gateway", "grpcroutes.gateway.networking.k8s.io",
			`{"metadata":{"namespace":"app"},"spec":{"parentRefs":[{"namespace":"app"},{}]}}`, nil, nil},
		{"a Service", "services", `{"spec":{"hostnames":["a.test"]}}`, nil, nil},
		{"nonsense", "ingresses.networking.k8s.io", `{"spec":{"rules":"x"}}`, nil, nil},
	} {
		got := Exposing(c.kind, []byte(c.body))
		if !slices.Equal(got.Hosts, c.hosts) || !slices.Equal(got.Backends, c.backends) {
			t.Errorf("%s: %q to %q", c.name, got.Hosts, got.Backends)
		}
	}
}

func TestHostsThatAreKept(t *testing.T) {
	p := compile(t, tunnel.Allow{Hosts: []string{"shop=*.shop.test", "shop=both.test", "b*=both.test"}}, nil)
	for _, c := range []struct {
		space, host string
		first       bool
		reason      string
	}{
		{"shop", "a.shop.test", false, ""}, {"bank", "a.shop.test", false, ReasonHost},
		{"bank", "*.a.shop.test", false, ReasonHost}, {"bank", "*.test", false, ReasonHost},
		{"shop", "*.test", true, ""},
		{"bank", "both.test", false, ""}, {"tea", "both.test", false, ReasonHost},
		{"bank", "bank.test", true, ""}, {"bank", "", true, ""},
	} {
		first, err := p.Host(c.space, c.host)
		if refused(t, err, c.reason, ""); first != c.first {
			t.Errorf("%s for %q: first %t", c.space, c.host, first)
		}
	}
	for _, rule := range []string{"shop", "=x", "shop=", "[=x", "shop=["} {
		if _, err := Compile(tunnel.Allow{Hosts: []string{rule}}, nil); err == nil {
			t.Errorf("rule %q is taken", rule)
		}
	}
}
