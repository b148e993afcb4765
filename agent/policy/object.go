package policy

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/json" // names of fields have one spelling, as for an API server

	"skerry.dev/skerry/tunnel/exponent"
)

// Object refuses what the site does not allow inside of an object. body is its JSON; names reports
// whether a ServiceAccount of the namespace came from the space. A body that cannot be read is left
// to the cluster's own validation.
func (p *Policy) Object(space, namespace, kind string, body []byte, names func(serviceAccount string) bool) error {
	if field := exponent.Find(body); field != "" {
		return refuse(ReasonField, "", "", "%.200s has an exponent with which the site's API server would compute for "+
			"hours; write the quantity with a suffix, such as 500m or 2Gi", field)
	}
	switch kind {
	case "services":
		return p.service(body)
	case "secrets":
		return p.secret(body)
	case "ingresses.networking.k8s.io":
		return p.ingress(space, namespace, body)
	case ingressClasses:
		return p.ingressClass(body)
	}
	if err := p.claims(kind, body); err != nil {
		return err
	}
	if err := p.finalizers(space, kind, body); err != nil {
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
		Metadata ExposingMeta `json:"metadata"`
		Spec     struct {
			ExternalIPs       []string `json:"externalIPs"`
			LoadBalancerIP    string   `json:"loadBalancerIP"`
			LoadBalancerClass string   `json:"loadBalancerClass"`
		} `json:"spec"`
	}
	if json.Unmarshal(body, &o) != nil {
		return nil
	}
	if taken := addresses(len(o.Spec.ExternalIPs) > 0, o.Spec.LoadBalancerIP != "", o.Metadata.Annotations); taken != "" &&
		!both(p.site.ExternalIPs, p.parent.ExternalIPs) {
		return refuse(ReasonField, "externalIPs", "true",
			"%s of a Service would take traffic to addresses of the site", taken)
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

// addressAnnotations are what load balancers of clusters take for spec.loadBalancerIP, or by which
// Services share an address: MetalLB, Cilium, kube-vip, PureLB, OpenELB and Calico.
var addressAnnotations = []string{
	"metallb.io/loadBalancerIPs", "metallb.io/allow-shared-ip", "metallb.io/address-pool",
	"metallb.io/ip-allocated-from-pool",
	"metallb.universe.tf/loadBalancerIPs", "metallb.universe.tf/allow-shared-ip", "metallb.universe.tf/address-pool",
	"lbipam.cilium.io/ips", "lbipam.cilium.io/sharing-key", "lbipam.cilium.io/sharing-cross-namespace",
	"io.cilium/lb-ipam-ips", "io.cilium/lb-ipam-sharing-key", "io.cilium/lb-ipam-sharing-cross-namespace",
	"kube-vip.io/loadbalancerIPs", "purelb.io/addresses", "purelb.io/allow-shared-ip",
	"eip.openelb.kubesphere.io/v1alpha2", "projectcalico.org/loadBalancerIPs",
}

// addresses names the field or annotation by which a Service says itself at which addresses it is, empty
// for none.
func addresses(external, balancer bool, annotations map[string]string) string {
	switch {
	case external:
		return "spec.externalIPs"
	case balancer:
		return "spec.loadBalancerIP"
	}
	for _, key := range addressAnnotations {
		if annotations[key] != "" {
			return "annotation " + key
		}
	}
	return ""
}

// tokenSecret is the type of Secrets that Kubernetes fills with a token for its API.
const tokenSecret = "kubernetes.io/service-account-token"

func (p *Policy) secret(body []byte) error {
	var o struct {
		Type string `json:"type"`
	}
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
			"the Pods name ServiceAccount %q, which did not come from the space", name).passing()
	}
	return nil
}
