package policy

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Object refuses what the site does not allow inside of an object. body is its JSON; names reports
// whether a ServiceAccount of the namespace came from the space. A body that cannot be read is left
// to the cluster's own validation.
func (p *Policy) Object(space, namespace, kind string, body []byte, names func(serviceAccount string) bool) error {
	switch kind {
	case "services":
		return p.service(body)
	case "secrets":
		return p.secret(body)
	}
	if err := p.claims(kind, body); err != nil {
		return err
	}
	for _, at := range templates[kind] {
		if err := p.template(space, namespace, at, body, names); err != nil {
			return err
		}
	}
	return nil
}

// service refuses what takes traffic that is not the space's.
func (p *Policy) service(body []byte) error {
	var o struct {
		Spec struct {
			ExternalIPs       []string
			LoadBalancerClass string
		}
	}
	if json.Unmarshal(body, &o) != nil {
		return nil
	}
	if len(o.Spec.ExternalIPs) > 0 && !both(p.site.ExternalIPs, p.parent.ExternalIPs) {
		return refuse(
			ReasonField,
			"externalIPs",
			"true",
			"spec.externalIPs of a Service would take traffic to addresses of the site",
		)
	}
	if class := o.Spec.LoadBalancerClass; class != "" &&
		!named(class, p.site.LoadBalancerClasses, p.parent.LoadBalancerClasses) {
		return refuse(
			ReasonField,
			"loadBalancerClasses",
			"["+class+"]",
			"spec.loadBalancerClass %q is the site's to give",
			class,
		)
	}
	return nil
}

// tokenSecret is the type of Secrets that Kubernetes fills with a token for its API.
const tokenSecret = "kubernetes.io/service-account-token"

func (p *Policy) secret(body []byte) error {
	var o struct{ Type string }
	if json.Unmarshal(body, &o) == nil && o.Type == tokenSecret && !p.tokens() {
		return refuse(
			ReasonField,
			"tokens",
			"true",
			"a Secret of type %s would hold a token for the site's own API",
			tokenSecret,
		)
	}
	return nil
}

// checkAccount refuses a ServiceAccount that did not come from the space: the site may have given
// it rights.
func (p *Policy) checkAccount(spec *podSpec, namespace string, names func(string) bool) error {
	for _, name := range slices.Compact([]string{spec.ServiceAccountName, spec.DeprecatedServiceAccount}) {
		if name == "" || name == "default" || names(name) ||
			named(namespace+"/"+name, p.site.ServiceAccounts, p.parent.ServiceAccounts) {
			continue
		}
		full := fmt.Sprintf("%s/%s", namespace, name)
		return refuse(ReasonServiceAccount, "serviceAccounts", "["+full+"]",
			"the Pods name ServiceAccount %q, which did not come from the space", name)
	}
	return nil
}
