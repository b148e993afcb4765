package agent

import (
	"strings"
	"testing"

	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

func ingressClass(name string, spec map[string]any) store.Entry {
	return live("networking.k8s.io", "ingressclasses", "networking.k8s.io/v1", "IngressClass", "", name, map[string]any{
		"metadata": map[string]any{"name": name, "annotations": map[string]any{
			target.AnnotationOrigin: "shop/", target.AnnotationOriginUID: "source-" + name,
			policy.DefaultIngressClass: "true", "keep": "me",
		}},
		"spec": spec,
	})
}

// The default class of a space is not that of its site: it would serve the Ingresses of others. What the class may
// not have is refused, though it is in no namespace. An admin who opens the kind lets both be.
func TestTheDefaultIngressClassOfASpaceIsNotThatOfItsSite(t *testing.T) {
	inBubble(t, theDefaultIngressClassOfASpaceIsNotThatOfItsSite)
}

func theDefaultIngressClassOfASpaceIsNotThatOfItsSite(t *testing.T) {
	proxy := ingressClass("proxy", map[string]any{"controller": "example.com/in"})
	reads := ingressClass("reads", map[string]any{"controller": "example.com/in",
		"parameters": map[string]any{"kind": "Secret", "name": "b"}})
	s := sealedSite(t, tunnel.Allow{})
	s.desire(proxy, reads)
	if m := s.reported(reads, "FieldNotAllowed"); !strings.Contains(m, "spec.parameters") {
		t.Errorf("message %q", m)
	}
	eventually(t, "the class is there", func() bool { return s.exists(proxy) })
	_, a := s.metadataOf(proxy)
	if a[policy.DefaultIngressClass] != nil || a["keep"] != "me" {
		t.Errorf("a sealed site has the class with the annotations %v", a)
	}
	open := sealedSite(t, tunnel.Allow{Kinds: []string{"ingressclasses.networking.k8s.io"}})
	open.desire(proxy, reads)
	eventually(t, "both classes are there", func() bool { return open.exists(proxy) && open.exists(reads) })
	if _, a := open.metadataOf(proxy); a[policy.DefaultIngressClass] != "true" {
		t.Errorf("a site that has opened the kind has the class with the annotations %v", a)
	}
}
