package target

import "strings"

// LabelNamespaceName is the label by which every Namespace can be selected by its name.
const LabelNamespaceName = "kubernetes.io/metadata.name"

// reference is a place where an object of Kubernetes names namespaces: fields with dots between
// them, "*" for every element of a list.
type reference struct {
	path string
	edit func(v any, to func(string) string) any
}

// references are those places by kind, GROUP/RESOURCE. Custom resources have none that could be
// known.
var references = map[string][]reference{
	"networking.k8s.io/networkpolicies": {
		{"spec.ingress.*.from.*.namespaceSelector", selector},
		{"spec.egress.*.to.*.namespaceSelector", selector},
	},
	"rbac.authorization.k8s.io/rolebindings":        {{"subjects.*", subject}},
	"rbac.authorization.k8s.io/clusterrolebindings": {{"subjects.*", subject}},
	"/persistentvolumeclaims":                       {{"spec.dataSourceRef.namespace", named}},
	"admissionregistration.k8s.io/validatingwebhookconfigurations": {
		{"webhooks.*.clientConfig.service.namespace", named},
		{"webhooks.*.namespaceSelector", selector},
	},
	"admissionregistration.k8s.io/mutatingwebhookconfigurations": {
		{"webhooks.*.clientConfig.service.namespace", named},
		{"webhooks.*.namespaceSelector", selector},
	},
	"discovery.k8s.io/endpointslices": {{"endpoints.*.targetRef.namespace", named}},
	"/endpoints": {
		{"subsets.*.addresses.*.targetRef.namespace", named},
		{"subsets.*.notReadyAddresses.*.targetRef.namespace", named},
	},
	"/pods":                    podReferences(""),
	"/podtemplates":            podReferences("template."),
	"/replicationcontrollers":  podReferences("spec.template."),
	"apps/deployments":         podReferences("spec.template."),
	"apps/replicasets":         podReferences("spec.template."),
	"apps/daemonsets":          podReferences("spec.template."),
	"apps/controllerrevisions": podReferences("data.spec.template."),
	"apps/statefulsets": append(podReferences("spec.template."),
		reference{"spec.volumeClaimTemplates.*.spec.dataSourceRef.namespace", named}),
	"batch/jobs":     podReferences("spec.template."),
	"batch/cronjobs": podReferences("spec.jobTemplate.spec.template."),
}

// podReferences are those of a Pod that is at a path.
func podReferences(at string) (out []reference) {
	for _, affinity := range []string{"podAffinity", "podAntiAffinity"} {
		for _, term := range []string{
			"requiredDuringSchedulingIgnoredDuringExecution.*",
			"preferredDuringSchedulingIgnoredDuringExecution.*.podAffinityTerm",
		} {
			term = at + "spec.affinity." + affinity + "." + term
			out = append(out,
				reference{term + ".namespaces.*", named},
				reference{term + ".namespaceSelector", selector})
		}
	}
	return out
}

// rename changes the names of namespaces in an object of a kind.
func rename(o map[string]any, kind string, to func(string) string) {
	for _, r := range references[kind] {
		edit(o, strings.Split(r.path, "."), func(v any) any { return r.edit(v, to) })
	}
}

// edit changes what is at a path below v, and returns what v is then.
func edit(v any, path []string, change func(any) any) any {
	if len(path) == 0 {
		return change(v)
	}
	switch in := v.(type) {
	case []any:
		if path[0] == "*" {
			for i := range in {
				in[i] = edit(in[i], path[1:], change)
			}
		}
	case map[string]any:
		if below, ok := in[path[0]]; ok {
			in[path[0]] = edit(below, path[1:], change)
		}
	}
	return v
}

// named changes the name of a namespace.
func named(v any, to func(string) string) any {
	if s, ok := v.(string); ok {
		return to(s)
	}
	return v
}

// selector changes the names of namespaces in a selector of Namespaces.
func selector(v any, to func(string) string) any {
	edit(v, []string{"matchLabels", LabelNamespaceName}, func(v any) any { return named(v, to) })
	return edit(v, []string{"matchExpressions", "*"}, func(v any) any {
		if m, ok := v.(map[string]any); ok && m["key"] == LabelNamespaceName {
			edit(m, []string{"values", "*"}, func(v any) any { return named(v, to) })
		}
		return v
	})
}

// accountsOf begins the name of the group of all ServiceAccounts in a namespace.
const accountsOf = "system:serviceaccounts:"

// subject changes the namespace of a subject that is a ServiceAccount, or all of a namespace.
func subject(v any, to func(string) string) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	switch m["kind"] {
	case "ServiceAccount":
		edit(m, []string{"namespace"}, func(v any) any { return named(v, to) })
	case "Group":
		if of, ok := m["name"].(string); ok && strings.HasPrefix(of, accountsOf) {
			m["name"] = accountsOf + to(strings.TrimPrefix(of, accountsOf))
		}
	case "User":
		const account = "system:serviceaccount:"
		if of, ok := m["name"].(string); ok && strings.HasPrefix(of, account) {
			m["name"] = account + to(strings.TrimPrefix(of, account))
		}
	}
	return v
}
