package streams

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel/exchange"
)

// callFrom is a call of a Pod of a namespace with a label app.
func callFrom(namespace, app string) *exchange.Request {
	r := call("80")
	r.Caller = exchange.Caller{Namespace: namespace, Labels: map[string]string{"app": app},
		NamespaceLabels: map[string]string{"team": app, "kubernetes.io/metadata.name": namespace},
		Address:         netip.MustParseAddr("10.42.0.5")}.Encode()
	return r
}

// guard keeps everybody out of the Pod but whom a peer of a NetworkPolicy names.
func (s *served) guard(peer m) {
	s.api.Put("networking.k8s.io/v1", "NetworkPolicy", "web", "guard", m{"spec": m{"podSelector": m{"matchLabels": m{"app": "web"}},
		"policyTypes": []any{"Ingress"}, "ingress": []any{m{"from": []any{peer}, "ports": []any{m{"port": "http"}}}}}})
	s.pod(m{"metadata": m{"labels": m{"app": "web"}},
		"spec": m{"containers": []any{m{"ports": []any{m{"name": "http", "containerPort": s.port}}}}}})
}

// A Pod that is called from another site is asked for by its NetworkPolicies, as if the caller were at its own. Who was
// let in a moment ago lets nobody else in.
func TestPoliciesHoldForCallersElsewhere(t *testing.T) {
	front := m{"namespaceSelector": m{"matchLabels": m{"kubernetes.io/metadata.name": "front"}},
		"podSelector": m{"matchLabels": m{"app": "api"}}}
	s := newServed(t)
	s.guard(front)
	h := s.handler(t)
	for _, c := range []struct {
		r    *exchange.Request
		code int
	}{
		{callFrom("front", "api"), http.StatusSwitchingProtocols},
		{callFrom("front", "web"), http.StatusForbidden},
		{callFrom("web", "api"), http.StatusForbidden},
		{call("80"), http.StatusForbidden},
		{callFrom("front", "api"), http.StatusSwitchingProtocols},
	} {
		resp, end := connect(t, h, c.r)
		if resp.StatusCode != c.code {
			t.Errorf("called by %q: %d, want %d", c.r.Caller, resp.StatusCode, c.code)
		}
		if c.code == http.StatusForbidden {
			if f := exchange.Refusal(resp); f.Reason != exchange.Denied || !strings.Contains(f.Message, "guard does not let") {
				t.Errorf("refused with %+v", f)
			}
		}
		end()
	}
	if n := s.api.Listed("/apis/networking.k8s.io/v1/namespaces/web/networkpolicies"); n > 2 {
		t.Errorf("the policies were read %d times", n) // a slow machine may take longer than a moment
	}
}

// A policy of this cluster names the caller's namespace as this cluster does.
func TestPoliciesOfMappedNamespaces(t *testing.T) {
	s := newServed(t)
	s.guard(m{"namespaceSelector": m{"matchLabels": m{"kubernetes.io/metadata.name": "eu-front"}}})
	h := s.handler(t)
	h.Backend.(*Site).There = func(_, namespace string) string {
		if namespace == "front" {
			return "eu-front"
		}
		return namespace
	}
	resp, end := connect(t, h, callFrom("front", "api"))
	defer end()
	if resp.StatusCode != http.StatusSwitchingProtocols {
		t.Errorf("it answers %d", resp.StatusCode)
	}
}

// A Namespace of the caller's own site is none of the space, whatever it is called, and whoever has no Namespace is an
// address.
func TestPoliciesHoldForCallersFromOutside(t *testing.T) {
	s := newServed(t)
	h := s.handler(t)
	h.Backend.(*Site).There = func(_, namespace string) string {
		return strings.Replace(namespace, "kube", "eu", 1)
	}
	at := netip.MustParseAddr("203.0.113.7")
	ingress := exchange.Caller{Namespace: "kube-system", OfSite: true, Address: at}
	name := m{"namespaceSelector": m{"matchLabels": m{"kubernetes.io/metadata.name": "kube-system"}}}
	for _, c := range []struct {
		peer   m
		caller exchange.Caller
		code   int
	}{
		{name, ingress, http.StatusSwitchingProtocols},
		{m{"podSelector": m{}}, ingress, http.StatusForbidden},
		{name, exchange.Caller{Address: at}, http.StatusForbidden},
		{m{"ipBlock": m{"cidr": "203.0.113.0/24"}}, exchange.Caller{Address: at}, http.StatusSwitchingProtocols},
	} {
		s.guard(c.peer)
		r := call("80")
		r.Caller = c.caller.Encode()
		storetest.Eventually(t, "the policy holds", func() bool {
			resp, end := connect(t, h, r)
			defer end()
			return resp.StatusCode == c.code
		})
	}
}

// Nobody is let in while the policies cannot be read.
func TestPoliciesThatCannotBeRead(t *testing.T) {
	for name, set := range map[string]func(*served){
		"all": func(s *served) {
			s.api.Handle(func(w http.ResponseWriter, r *http.Request) bool {
				if strings.HasSuffix(r.URL.Path, "/networkpolicies") {
					w.WriteHeader(http.StatusForbidden)
					return true
				}
				return false
			})
		},
		"one": func(s *served) {
			s.api.Put("networking.k8s.io/v1", "NetworkPolicy", "web", "odd", m{"spec": m{"podSelector": "x"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServed(t)
			set(s)
			resp, text, err := ask(t, s.handler(t), callFrom("front", "api"))
			if err != nil || resp.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("%v %s %v", resp, text, err)
			}
		})
	}
}
