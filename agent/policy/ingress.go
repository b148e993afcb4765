package policy

import (
	stdjson "encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
	psa "k8s.io/pod-security-admission/api"
)

// proxies are the prefixes of annotations by which Ingresses speak to a proxy of the site.
var proxies = []string{
	"nginx.ingress.kubernetes.io/", "nginx.org/", "haproxy.org/", "haproxy-ingress.github.io/", "ingress.kubernetes.io/",
}

// pieces are the annotations, behind such a prefix, whose value becomes a part of the configuration of
// the proxy as it is.
var pieces = []string{
	"-snippet", "-snippets", "/config-backend", "/config-proxy", "/config-global", "/config-defaults", "/config-frontend",
	"/config-tcp", "/config-peers",
}

// ingress refuses annotations that reach past the space: what the proxy of the site would run, and
// Secrets and ConfigMaps of other namespaces, which it reads with its own rights.
func (p *Policy) ingress(space, namespace string, body []byte) error {
	var o struct {
		Metadata ExposingMeta `json:"metadata"`
	}
	if json.Unmarshal(body, &o) != nil || p.Level(space) == psa.LevelPrivileged {
		return nil
	}
	for _, key := range sortedKeys(o.Metadata.Annotations) {
		if !hasAny(key, proxies, strings.HasPrefix) {
			continue
		}
		value := o.Metadata.Annotations[key]
		if hasAny(key, pieces, strings.HasSuffix) {
			return refuse(ReasonField, "podSecurity", "["+space+"=privileged]",
				"annotation %s of an Ingress would run in the site's own proxy, which has the Secrets of all", key)
		}
		if of, _, found := strings.Cut(value, "/"); found && of != namespace && readsObject(key) {
			return refuse(ReasonField, "podSecurity", "["+space+"=privileged]",
				"annotation %s of an Ingress names an object of namespace %q, which the site's own proxy would read", key, of)
		}
	}
	return nil
}

// DefaultIngressClass is the annotation of the class that Ingresses have which name none.
const DefaultIngressClass = "ingressclass.kubernetes.io/is-default-class"

// IsIngressClass reports whether a kind is that of classes of Ingresses.
func IsIngressClass(group, resource string) bool { return KindName(group, resource) == ingressClasses }

// MayServeAll reports whether the site lets a class of a space be the default one of everybody.
func (p *Policy) MayServeAll() bool { return matches(ingressClasses, p.site.Kinds) }

// ingressClass refuses a class that would serve the Ingresses of others, and parameters, which a
// controller of the site would read with its own rights.
func (p *Policy) ingressClass(body []byte) error {
	var o struct {
		Metadata ExposingMeta `json:"metadata"`
		Spec     struct {
			Parameters stdjson.RawMessage `json:"parameters"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(body, &o); err != nil || p.MayServeAll() {
		return nil
	}
	open := "[" + ingressClasses + "]"
	if o.Metadata.Annotations[DefaultIngressClass] == "true" {
		return refuse(ReasonField, "kinds", open,
			"annotation %s of an IngressClass would give it the Ingresses of everybody who names no class", DefaultIngressClass)
	}
	if p := string(o.Spec.Parameters); p != "" && p != "null" {
		return refuse(ReasonField, "kinds", open, "spec.parameters of an IngressClass names what a controller of the site "+
			"would read with its own rights")
	}
	return nil
}

// readsObject reports whether an annotation names a Secret or a ConfigMap, with or without a namespace.
func readsObject(key string) bool {
	return strings.HasSuffix(key, "secret") || strings.HasSuffix(key, "-set-headers") ||
		strings.HasSuffix(key, "custom-headers") || strings.HasSuffix(key, "-crt")
}

func hasAny(text string, parts []string, has func(text, part string) bool) bool {
	for _, part := range parts {
		if has(text, part) {
			return true
		}
	}
	return false
}
