package policy

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
)

const rbacGroup = "rbac.authorization.k8s.io"

// IsRights reports whether the objects of a group give rights to the cluster's API.
func IsRights(group string) bool { return group == rbacGroup }

// SpaceFacts is what the policy has to know of a space at the site.
type SpaceFacts interface {
	// Owns reports whether a namespace was made at the site for the space, and is not shared with
	// the site.
	Owns(namespace string) bool
	// HasClusterRole reports whether a ClusterRole of this name came from the space.
	HasClusterRole(name string) bool
}

// rights is the part of RBAC objects that is judged. It is read as an API server reads it: the names
// of fields have one spelling.
type rights struct {
	Metadata struct {
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
	Rules   []rule `json:"rules"`
	RoleRef struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
	} `json:"roleRef"`
	Subjects []struct {
		Kind      string `json:"kind"`
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"subjects"`
	AggregationRule any `json:"aggregationRule"`
}

type rule struct {
	APIGroups       []string `json:"apiGroups"`
	Resources       []string `json:"resources"`
	Verbs           []string `json:"verbs"`
	NonResourceURLs []string `json:"nonResourceURLs"`
}

// Rights refuses a Role, ClusterRole or binding of a space that gives more than the site has opened
// to the space. namespace is the space's name of it, empty for a cluster-scoped kind. What it allows
// the cluster checks once more: it is written as the space's account, which can give away only what
// it has.
func (p *Policy) Rights(space, namespace, resource, name string, body []byte, facts SpaceFacts) error {
	switch {
	case namespace == "" && !named(space, p.site.ClusterControllers, p.parent.ClusterControllers):
		return refuse(ReasonRights, "clusterControllers", "["+space+"]",
			"%s would give rights in the whole cluster of the site", resource)
	case namespace != "" && !named(space, p.site.Controllers, p.parent.Controllers):
		return refuse(ReasonRights, "controllers", "["+space+"]", "%s would give rights to the site's own API", resource)
	case namespace != "" && !facts.Owns(namespace):
		return refuse(ReasonRights, "", "",
			"namespace %q was not made at the site for the space: rights there are the site's to give", namespace)
	}
	if strings.HasPrefix(name, "skerry-") || strings.HasPrefix(name, "system:") {
		return refuse(ReasonRights, "", "", "names that begin with skerry- and system: are the agent's, and the "+
			"cluster's own")
	}
	var o rights
	if err := json.Unmarshal(body, &o); err != nil {
		return refuse(ReasonRights, "", "", "what it gives cannot be read: %s", err)
	}
	switch resource {
	case "roles", "clusterroles":
		return p.role(&o)
	case "rolebindings", "clusterrolebindings":
		return p.binding(&o, facts)
	}
	return refuse(ReasonRights, "", "", "%s is no kind of rights that travels", resource)
}

func (p *Policy) role(o *rights) error {
	for label := range o.Metadata.Labels {
		if strings.Contains(label, "aggregate-to-") { // whoever's: operators have such labels of their own
			return refuse(ReasonRights, "", "", "label %s would give its rules to others at the site; leave it out", label)
		}
	}
	if o.AggregationRule != nil {
		return refuse(ReasonRights, "", "", "an aggregationRule would take over rules of the site; list the rules")
	}
	for i := range o.Rules {
		if err := p.rule(&o.Rules[i]); err != nil {
			return err
		}
	}
	return nil
}

// rule refuses what would lead beyond the rights of a space: wildcards, rights about rights, and
// what would get around the policy for fields.
func (p *Policy) rule(r *rule) error {
	if len(r.NonResourceURLs) > 0 {
		return refuse(ReasonRights, "", "", "a rule about %v is the site's to give", r.NonResourceURLs)
	}
	for _, list := range [][]string{r.APIGroups, r.Resources, r.Verbs} {
		if slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, "*") }) {
			return refuse(ReasonRights, "", "", "a rule with %q gives what nobody has looked at; name what is needed", "*")
		}
	}
	for _, verb := range r.Verbs {
		if verb == "escalate" || verb == "bind" || verb == "impersonate" {
			return refuse(ReasonRights, "", "", "the verb %q leads to any rights at the site", verb)
		}
	}
	writes := slices.ContainsFunc(r.Verbs, func(v string) bool { return v == "create" || v == "update" || v == "patch" })
	for _, group := range r.APIGroups {
		if group == rbacGroup || group == "authentication.k8s.io" || group == "certificates.k8s.io" {
			return refuse(ReasonRights, "", "", "a rule about %s leads to rights of others at the site", group)
		}
		for _, resource := range r.Resources {
			if group == "" && resource == "serviceaccounts/token" {
				return refuse(ReasonRights, "", "", "a rule about %s leads to rights of others at the site", resource)
			}
			if err := p.written(KindName(group, resource)); writes && err != nil {
				return err
			}
		}
	}
	return nil
}

// written refuses to let a controller write a kind that has a field of which the site has not opened
// all values: what a controller writes itself is not judged by Object.
func (p *Policy) written(kind string) error {
	switch kind {
	case "pods/status", "services/status", "endpoints", "endpointslices.discovery.k8s.io":
		return refuse(ReasonRights, "", "", "a controller that writes %s could lead traffic of the site anywhere", kind)
	case "services":
		if both(p.site.ExternalIPs, p.parent.ExternalIPs) &&
			named("*", p.site.LoadBalancerClasses, p.parent.LoadBalancerClasses) {
			return nil
		}
		return refuse(ReasonRights, "", "", "a controller that writes Services could give them externalIPs and "+
			"a load balancer class; the site's admin can allow it by externalIPs: true and loadBalancerClasses: [\"*\"]")
	case "persistentvolumeclaims", "statefulsets.apps":
		if p.volumeNames() {
			return nil
		}
		return refuse(ReasonRights, "volumeNames", "true", "a controller that writes %s could name volumes of the site", kind)
	}
	return nil
}

func (p *Policy) binding(o *rights, facts SpaceFacts) error {
	if o.RoleRef.Kind != "Role" && !facts.HasClusterRole(o.RoleRef.Name) {
		return refuse(ReasonRights, "", "",
			"%s %q is not one that came from the space; what the site's own roles give is the site's to bind",
			o.RoleRef.Kind, o.RoleRef.Name)
	}
	for _, s := range o.Subjects {
		if s.Kind != "ServiceAccount" {
			return refuse(ReasonRights, "", "", "subject %s %q is somebody else at the site; name ServiceAccounts alone",
				s.Kind, s.Name)
		}
		if !facts.Owns(s.Namespace) {
			return refuse(ReasonRights, "", "",
				"ServiceAccount %s/%s is not in a namespace that was made at the site for the space", s.Namespace, s.Name)
		}
	}
	return nil
}
