package placement

import (
	"fmt"
	"slices"
	"strings"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// born are the kinds, as group/resource, that sites make of workloads, beside those that people make
// in a space: Pods, ReplicaSets of Deployments, claims of templates, Jobs of CronJobs.
var born = []string{"/pods", "apps/replicasets", "/persistentvolumeclaims", "batch/jobs"}

// webhooksOfBorn tells the author of webhooks which of them are asked about some of the objects
// only, because the others are made at sites; "" where all are asked about all.
func webhooksOfBorn(k store.Key, obj map[string]any) string {
	if !registersWebhooks(k) {
		return ""
	}
	var names, resources []string
	for hook := range fields.Maps(obj, "webhooks") {
		matched := bornOf(hook)
		if len(matched) == 0 {
			continue
		}
		names = append(names, fields.String(hook, "name"))
		resources = append(resources, matched...)
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(resources)
	return fmt.Sprintf("workloads make their %s at sites, which ask no webhook of this space: %s will see only "+
		"what is made in the space itself; put what it sets or checks into the templates of the workloads, "+
		"or register it at the sites with the rights of their admins",
		strings.Join(slices.Compact(resources), ", "), listed(names))
}

func registersWebhooks(k store.Key) bool {
	return k.Group == "admissionregistration.k8s.io" &&
		(k.Resource == "mutatingwebhookconfigurations" || k.Resource == "validatingwebhookconfigurations")
}

// bornOf returns the resources that a webhook wants to be asked about, as far as sites make them.
func bornOf(hook map[string]any) (out []string) {
	for rule := range fields.Maps(hook, "rules") {
		if !holds(rule, "operations", "CREATE") {
			continue
		}
		for _, kind := range born {
			group, resource, _ := strings.Cut(kind, "/")
			if holds(rule, "apiGroups", group) && (holds(rule, "resources", resource) || holds(rule, "resources", "*/*")) {
				out = append(out, resource)
			}
		}
	}
	return out
}

// holds reports whether a list of a rule has a value, or "*" for all.
func holds(rule map[string]any, list, value string) bool {
	values := fields.List(rule, list)
	return slices.Contains(values, any(value)) || slices.Contains(values, any("*"))
}

// mostListed is how many names a message has.
const mostListed = 5

func listed(names []string) string {
	if more := len(names) - mostListed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostListed], ", "), more)
	}
	return strings.Join(names, ", ")
}
