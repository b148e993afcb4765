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
	return fmt.Sprintf("workloads make their %s at sites, which ask %s only where the site's admin allows it "+
		"(allow.webhooks) and its Service is at that site; elsewhere it will see only what is made in the space "+
		"itself: put what it sets or checks into the templates of the workloads",
		strings.Join(slices.Compact(resources), ", "), listed(names))
}

// Mirrored reports whether a configuration of webhooks has some that sites can be asked to call: by
// Service, about what is born there.
func Mirrored(k store.Key, obj map[string]any) bool {
	if !IsWebhooks(k.Group, k.Resource) {
		return false
	}
	for hook := range fields.Maps(obj, "webhooks") {
		if fields.Map(hook, "clientConfig", "service") != nil && aboutBorn(hook) {
			return true
		}
	}
	return false
}

func aboutBorn(hook map[string]any) bool {
	for rule := range fields.Maps(hook, "rules") {
		if len(bornIn(rule)) > 0 {
			return true
		}
	}
	return false
}

// IsWebhooks reports whether a kind is one of configurations of webhooks: they act in their space,
// and travel to sites that have opened that.
func IsWebhooks(group, resource string) bool {
	return group == "admissionregistration.k8s.io" &&
		(resource == "mutatingwebhookconfigurations" || resource == "validatingwebhookconfigurations")
}

func registersWebhooks(k store.Key) bool {
	return IsWebhooks(k.Group, k.Resource)
}

// bornOf returns the resources that a webhook wants to be asked about, as far as sites make them.
func bornOf(hook map[string]any) (out []string) {
	for rule := range fields.Maps(hook, "rules") {
		if !holds(rule, "operations", "CREATE") {
			continue
		}
		out = append(out, bornIn(rule)...)
	}
	return out
}

// bornIn returns the resources of a rule that sites make.
func bornIn(rule map[string]any) (out []string) {
	for _, kind := range born {
		group, resource, _ := strings.Cut(kind, "/")
		if holds(rule, "apiGroups", group) && (holds(rule, "resources", resource) || holds(rule, "resources", "*/*")) {
			out = append(out, resource)
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

func listed(names []string) string { return first(names, mostListed) }
