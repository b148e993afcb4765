package agent

import (
	"fmt"
	"strings"
	"testing"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

func ingress(space, ns, name, service string, hosts ...string) store.Entry {
	var rules []any
	for _, host := range hosts {
		rules = append(rules, map[string]any{"host": host, "http": map[string]any{"paths": []any{map[string]any{
			"path": "/", "backend": map[string]any{"service": map[string]any{"name": service}}}}}})
	}
	return of(space, live("networking.k8s.io", "ingresses", "networking.k8s.io/v1", "Ingress", ns, name,
		map[string]any{"spec": map[string]any{"rules": rules}}))
}

// twoSpaces is a site with a namespace for each of two spaces.
func twoSpaces(t *testing.T, allow tunnel.Allow) *site {
	s := sealedSite(t, allow)
	s.desire(spaceNamespace("shop", "u1", "app"), spaceNamespace("bank", "u2", "vault"))
	s.settled()
	return s
}

// Two spaces cannot have one host at a site: who has it keeps it, also across a restart, and another
// one gets it when it is free.
func TestAHostIsOneSpaces(t *testing.T) { inBubble(t, aHostIsOneSpaces) }

func aHostIsOneSpaces(t *testing.T) {
	s := twoSpaces(t, tunnel.Allow{})
	first := ingress("shop", "app", "web", "web", "Shop.example.com", "*.deep.example.com")
	s.desire(first)
	s.settled()
	for i, host := range []string{"shop.example.com", "*.example.com", "a.deep.example.com", "b.a.deep.example.com"} {
		late := ingress("bank", "vault", fmt.Sprintf("late-%d", i), "web", "other.test", host)
		s.desire(late)
		if m := s.reported(late, "HostTaken"); !strings.Contains(m, host) || strings.Contains(m, `"shop"`) ||
			!strings.Contains(m, "hosts: [bank="+host+", OTHER="+host+"]") {
			t.Errorf("%s: message %q", host, m)
		}
		s.desire(gone(late))
	}
	fine := ingress("bank", "vault", "fine", "web", "bank.example.com", "deep.example.com", "xdeep.example.com")
	same := ingress("shop", "app", "second", "web", "shop.example.com") // of the same space
	s.desire(fine, same)
	eventually(t, "hosts that nobody has are taken", func() bool { return s.exists(fine) && s.exists(same) })

	s.restart(true)
	late := ingress("bank", "vault", "late", "web", "shop.example.com")
	s.desire(late)
	s.reported(late, "HostTaken")
	s.desire(gone(first), gone(same))
	eventually(t, "the host is taken when it is free", func() bool { return s.exists(late) })

	changed := ingress("bank", "vault", "late", "web", "new.example.com")
	s.desire(changed)
	s.settled()
	s.desire(ingress("shop", "app", "again", "web", "shop.example.com"))
	eventually(t, "a host that is given up is free", func() bool {
		return s.exists(ingress("shop", "app", "again", "web"))
	})
}

// All hosts of an object are remembered, so that they are bounded.
func TestManyHosts(t *testing.T) { inBubble(t, manyHosts) }

func manyHosts(t *testing.T) {
	s := twoSpaces(t, tunnel.Allow{})
	var hosts []string
	for i := range 300 {
		hosts = append(hosts, fmt.Sprintf("h%d.example.com", i))
	}
	many, most := ingress("shop", "app", "many", "web", hosts...), ingress("shop", "app", "most", "web", hosts[:256]...)
	s.desire(many, most)
	if m := s.reported(many, "FieldNotAllowed"); !strings.Contains(m, "300 hosts") {
		t.Errorf("message %q", m)
	}
	eventually(t, "as many as are allowed are taken", func() bool { return s.exists(most) })
}

// An Ingress that is to have one more host keeps what it has while that is refused.
func TestAHostThatIsAskedForIsNotGivenUp(t *testing.T) {
	s := twoSpaces(t, tunnel.Allow{})
	s.desire(ingress("shop", "app", "web", "web", "a.test"), ingress("bank", "vault", "web", "web", "b.test"))
	s.settled()
	both := ingress("shop", "app", "web", "web", "b.test")
	s.desire(both)
	s.reported(both, "HostTaken")
	thief := ingress("bank", "vault", "thief", "web", "a.test")
	s.desire(thief)
	s.reported(thief, "HostTaken")
}

// The site's own objects come before those of spaces, and so do spaces for which it keeps a host.
func TestTheSiteDecidesAboutHosts(t *testing.T) { inBubble(t, theSiteDecidesAboutHosts) }

func theSiteDecidesAboutHosts(t *testing.T) {
	s := twoSpaces(t, tunnel.Allow{Hosts: []string{"shop=*.shop.test", "shop=both.test", "bank=both.test"}})
	s.api.Put("networking.k8s.io/v1", "Ingress", "kube-system", "dashboard",
		map[string]any{"spec": map[string]any{"rules": []any{map[string]any{"host": "admin.test"}}}})
	for _, c := range []struct {
		e     store.Entry
		words string
	}{
		{ingress("bank", "vault", "a", "web", "admin.test"), "site's own"},
		{ingress("bank", "vault", "b", "web", "pay.shop.test"), "kept for another space"},
		{ingress("bank", "vault", "c", "web", "*.pay.shop.test"), "kept for another space"},
	} {
		s.desire(c.e)
		if m := s.reported(c.e, "HostTaken"); !strings.Contains(m, c.words) {
			t.Errorf("%s: message %q", c.e.Key.Name, m)
		}
	}
	one, other := ingress("shop", "app", "s", "web", "both.test"), ingress("bank", "vault", "s", "web", "both.test")
	s.desire(one, other)
	eventually(t, "spaces share a host that is kept for both", func() bool { return s.exists(one) && s.exists(other) })
	any, late := ingress("shop", "app", "any", "web", ""), ingress("bank", "vault", "any", "web", "")
	s.desire(any)
	eventually(t, "what names no host is taken", func() bool { return s.exists(any) })
	s.desire(late)
	if m := s.reported(late, "HostTaken"); !strings.Contains(m, "without the name of a host") {
		t.Errorf("message %q", m)
	}
}

// The site's own proxy follows no name that a space chooses, whichever of the two objects comes first.
func TestNoTrafficToAnExternalName(t *testing.T) { inBubble(t, noTrafficToAnExternalName) }

func noTrafficToAnExternalName(t *testing.T) {
	service := func(name, kind string) store.Entry {
		return live("", "services", "v1", "Service", "app", name,
			map[string]any{"spec": map[string]any{"type": kind, "externalName": "kubernetes.default.svc"}})
	}
	for _, allow := range []tunnel.Allow{{}, {ExternalBackends: true}} {
		s := twoSpaces(t, allow)
		alias, plain, alone := service("alias", "ExternalName"), service("plain", "ClusterIP"), service("db", "ExternalName")
		s.desire(alias, plain, alone)
		s.settled()
		web, good := ingress("shop", "app", "web", "alias", "a.test"), ingress("shop", "app", "good", "plain", "b.test")
		s.desire(web, good)
		turned := service("plain", "ExternalName")
		eventually(t, "a Service with Pods is a backend", func() bool { return s.exists(good) })
		s.desire(turned)
		if allow.ExternalBackends {
			eventually(t, "it may be one where the site allows it", func() bool { return s.exists(web) })
			s.healthy(turned)
			continue
		}
		for _, e := range []store.Entry{web, turned} {
			if m := s.reported(e, "FieldNotAllowed"); !strings.Contains(m, "externalBackends: true") ||
				!strings.Contains(m, "ingresses.networking.k8s.io") {
				t.Errorf("%s: message %q", e.Key.Name, m)
			}
		}
		s.restart(true)
		later := ingress("shop", "app", "later", "db", "c.test")
		s.desire(later)
		s.reported(later, "FieldNotAllowed")
		other := service("alias", "ExternalName")
		other.Body = []byte(strings.Replace(string(other.Body), "default.svc", "default", 1))
		other.Hash = store.HashBody(1, other.Body)
		s.desire(other) // a refused Ingress leads nothing to it
		s.healthy(other)
	}
}
