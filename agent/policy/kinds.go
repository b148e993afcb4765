package policy

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"skerry.dev/skerry/tunnel"
)

// workloads are the kinds of Kubernetes that act inside of a namespace alone. They travel unless
// the site denies them.
var workloads = map[string]bool{
	"pods": true, "podtemplates": true, "replicationcontrollers": true, "services": true,
	"configmaps": true, "secrets": true,
	"persistentvolumeclaims": true, "serviceaccounts": true, "limitranges": true,
	"deployments.apps": true, "statefulsets.apps": true, "daemonsets.apps": true, "replicasets.apps": true,
	"jobs.batch": true, "cronjobs.batch": true,
	"horizontalpodautoscalers.autoscaling": true, "poddisruptionbudgets.policy": true,
	"ingresses.networking.k8s.io": true, "networkpolicies.networking.k8s.io": true,
	"resourceclaims.resource.k8s.io": true, "resourceclaimtemplates.resource.k8s.io": true,
}

// ingressClasses are the one kind of the whole cluster that a space may have by default: a class acts
// on those that name it alone. One that the cluster has, or another space, is never taken over.
const ingressClasses = "ingressclasses.networking.k8s.io"

// always are the kinds that have rules of their own.
var always = map[string]bool{"namespaces": true, "customresourcedefinitions.apiextensions.k8s.io": true}

// Kind refuses a kind that the site does not allow. Defined says that its definition came from a
// space.
func (p *Policy) Kind(group, resource string, defined bool) error {
	name := KindName(group, resource)
	switch {
	case always[name]:
		return nil
	case matches(name, p.site.DenyKinds):
		return refuse(ReasonKind, "", "", "the site denies %s (allow.denyKinds in the agent's configuration)", name)
	case matches(name, p.parent.DenyKinds), p.parent.Kinds != nil && !matches(name, p.parent.Kinds):
		return refuse(
			ReasonKind,
			"",
			"",
			"spec.allow of the SyncTarget does not allow %s; the center's admin can change that",
			name,
		)
	case group == rbacGroup, IsWebhooks(group, resource) && len(p.site.Webhooks) > 0:
		return nil // whatever kinds says: Rights and Webhooks decide
	case IsWebhooks(group, resource):
		return refuse(ReasonWebhooks, "webhooks", "[SPACE]", "the site's API server would call webhooks of spaces")
	case workloads[name], name == ingressClasses, defined, matches(name, p.site.Kinds):
		return nil
	}
	refusal := refuse(ReasonKind, "kinds", "["+name+"]", "%s acts on the cluster of the site, or belongs to it", name)
	if !tunnel.BuiltInGroup(group) {
		return refusal.passing() // its definition may be on its way
	}
	return refusal
}

// Workload reports whether a kind of Kubernetes travels by default.
func Workload(group, resource string) bool { return workloads[KindName(group, resource)] }

// Workloads are those kinds by API group.
func Workloads() map[string][]string {
	out := map[string][]string{}
	for _, name := range sortedKeys(workloads) {
		resource, group, _ := strings.Cut(name, ".")
		out[group] = append(out[group], resource)
	}
	return out
}

// KindName is RESOURCE.GROUP, or RESOURCE in the core group.
func KindName(group, resource string) string {
	if group == "" {
		return resource
	}
	return resource + "." + group
}

// approval is the annotation of definitions in groups of Kubernetes that its reviewers have
// approved.
const approval = "api-approved.kubernetes.io"

// Definition refuses a CustomResourceDefinition by its group. Served says that the cluster serves
// the group by other means than definitions that came from spaces.
func (p *Policy) Definition(group string, annotations map[string]string, served bool) error {
	if !ofKubernetes(group) {
		return nil
	}
	approved := strings.HasPrefix(annotations[approval], "https://")
	if approved && !served {
		return nil
	}
	if !approved {
		return refuse(
			ReasonDefinition,
			"",
			"",
			"the API group %q is one of Kubernetes, and the definition has no annotation %s with the address of its review",
			group,
			approval,
		)
	}
	return refuse(
		ReasonDefinition,
		"",
		"",
		"the API group %q is one of Kubernetes, and the cluster serves it itself",
		group,
	).passing() // another definition of the group may have come from a space this moment
}

// DefinitionOf refuses the definition of a kind that the site denies.
func (p *Policy) DefinitionOf(group, plural string) error {
	name := KindName(group, plural)
	if matches(name, p.site.DenyKinds) || matches(name, p.parent.DenyKinds) {
		return refuse(ReasonDefinition, "", "", "the site denies %s, and so its definition (denyKinds)", name)
	}
	return nil
}

// KeepsDefinitions decides whose the definitions of an API group are at the site. mine says that the
// site keeps them for this space, kept that it keeps them for others, which this space may share.
func (p *Policy) KeepsDefinitions(space, group string) (mine, kept bool) {
	some, mine := owners(space, p.site.Definitions, func(pattern string) bool { return matches(group, []string{pattern}) })
	return mine, some && !mine
}

// Conversion refuses a definition whose objects a webhook converts: the cluster's API server would
// call an address of the space's choice. Spaces convert by themselves, so their parents send no
// such definition.
func (p *Policy) Conversion(body []byte) error {
	var o struct {
		Spec struct{ Conversion struct{ Strategy string } }
	}
	if json.Unmarshal(body, &o) == nil && o.Spec.Conversion.Strategy == "Webhook" {
		return refuse(ReasonDefinition, "", "", "the cluster would call a webhook for each object of the definition")
	}
	return nil
}

// ofKubernetes reports whether the name of an API group is reserved for Kubernetes.
func ofKubernetes(group string) bool {
	return !strings.Contains(group, ".") || group == "k8s.io" || group == "kubernetes.io" ||
		strings.HasSuffix(group, ".k8s.io") &&
			!strings.HasSuffix(group, ".x-k8s.io") || strings.HasSuffix(group, ".kubernetes.io")
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
