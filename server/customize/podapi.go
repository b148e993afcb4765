package customize

import (
	"maps"
	"slices"
	"strings"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// accountDirectory is where a pod looks for the credentials of its ServiceAccount.
const accountDirectory = "/var/run/secrets/kubernetes.io/serviceaccount"

// fileMode is that of the files in it, as in Kubernetes.
const fileMode = 0o644

// environment are the variables that say where the API is, and the keys that they come from.
var environment = []struct{ name, key string }{
	{"KUBERNETES_SERVICE_HOST", store.PodAPIHost},
	{"KUBERNETES_SERVICE_PORT", store.PodAPIPort},
	{"KUBERNETES_SERVICE_PORT_HTTPS", store.PodAPIPort},
}

// containerLists are the fields of a Pod's spec with containers.
var containerLists = []string{"initContainers", "containers", "ephemeralContainers"}

// podPaths are the kinds with pods, and the fields above the pods' spec.
var podPaths = map[string][]string{
	"/Pod":                   {},
	"/ReplicationController": {"spec", "template"},
	"apps/Deployment":        {"spec", "template"},
	"apps/StatefulSet":       {"spec", "template"},
	"apps/DaemonSet":         {"spec", "template"},
	"apps/ReplicaSet":        {"spec", "template"},
	"batch/Job":              {"spec", "template"},
	"batch/CronJob":          {"spec", "jobTemplate", "spec", "template"},
	revision:                 {"data", "spec", "template"},
}

// podSpecOf returns the spec of a workload's pods, which may be changed at its top level; nil for
// other kinds.
func podSpecOf(o map[string]any, name string) map[string]any {
	path, runs := podPaths[name]
	if !runs {
		return nil
	}
	for _, field := range path {
		if o = own(o, field); o == nil {
			return nil
		}
	}
	return own(o, "spec")
}

// giveAPI gives pods the API of their space, as the references that their site fulfils: where it is
// in the environment, and the credentials in the usual directory, or in the volume that the pods
// bring for them. It returns the ServiceAccount, and changes nothing, and returns "", where the pods
// bring all of that themselves, or want none.
func giveAPI(spec map[string]any) string {
	if spec == nil {
		return ""
	}
	account := placement.AccountOf(spec)
	automount, said := spec["automountServiceAccountToken"].(bool)
	written, mounted := giveWritten(spec, account), false
	for _, list := range containerLists {
		containers := fields.List(spec, list)
		out := slices.Clone(containers)
		for i, c := range containers {
			container, ok := c.(map[string]any)
			if !ok {
				continue
			}
			mount := (automount || !said) && !mountsAccount(container)
			if !mount && !mountsAny(container, written) {
				continue
			}
			container = maps.Clone(container)
			container["env"] = withEnvironment(fields.List(container, "env"))
			if mount {
				container["volumeMounts"] = append(slices.Clone(fields.List(container, "volumeMounts")), map[string]any{
					"name": store.PodAPIConfigMap, "mountPath": accountDirectory, "readOnly": true,
				})
				mounted = true
			}
			out[i] = container
		}
		if len(out) > 0 {
			spec[list] = out
		}
	}
	switch {
	case mounted:
		spec["volumes"] = append(slices.Clone(fields.List(spec, "volumes")), accountVolume(account))
	case written == nil:
		return ""
	}
	// What its author has said stays, so that takeAPI gives it back. The site adds no token of its own where
	// every container mounts something in the usual directory.
	if mounted && !said {
		spec["automountServiceAccountToken"] = false
	}
	return account
}

// mountsAccount reports whether a container has a mount of its own for its credentials. Then its
// environment belongs to those.
func mountsAccount(container map[string]any) bool {
	for m := range fields.Maps(container, "volumeMounts") {
		if fields.String(m, "mountPath") == accountDirectory || fields.String(m, "mountPath") == accountDirectory+"/" {
			return true
		}
	}
	return false
}

// mountsAny reports whether a container mounts one of some volumes.
func mountsAny(container map[string]any, volumes map[string]bool) bool {
	for m := range fields.Maps(container, "volumeMounts") {
		if volumes[fields.String(m, "name")] {
			return true
		}
	}
	return false
}

// withEnvironment adds the variables that a container does not set itself. They come first, so that
// others may refer to them.
func withEnvironment(env []any) []any {
	has := map[string]bool{}
	for _, e := range env {
		if m, ok := e.(map[string]any); ok {
			has[fields.String(m, "name")] = true
		}
	}
	if has[environment[0].name] {
		return env
	}
	var out []any
	for _, v := range environment {
		if !has[v.name] {
			out = append(out, variable(v.name, v.key))
		}
	}
	return append(out, env...)
}

func variable(name, key string) map[string]any {
	return map[string]any{"name": name, "valueFrom": map[string]any{
		"configMapKeyRef": map[string]any{"name": store.PodAPIConfigMap, "key": key},
	}}
}

// accountVolume has the credentials. The namespace comes from the Secret, too: what the cluster
// calls the namespace may be another name than the space's.
func accountVolume(account string) map[string]any {
	var items []any
	for _, key := range []string{store.PodAPIToken, store.PodAPICA, store.PodAPINamespace} {
		items = append(items, map[string]any{"key": key, "path": key})
	}
	return map[string]any{"name": store.PodAPIConfigMap, "projected": map[string]any{
		"defaultMode": fileMode,
		"sources": []any{map[string]any{
			"secret": map[string]any{"name": store.PodAPISecret(account), "items": items},
		}},
	}}
}

// revision is the kind in which a cluster keeps former templates of a StatefulSet or a DaemonSet.
const revision = "apps/ControllerRevision"

// TakeAPI removes from what a target reports (a Pod, a workload, a ControllerRevision) what Render
// has given its pods to use the API of their space. So people find what they wrote, and nothing
// else comes back by a rollback. The top level of the object is changed; what lies deeper is copied
// first.
func TakeAPI(o map[string]any, apiVersion, kind string) {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		group = ""
	}
	name := group + "/" + kind
	path, runs := podPaths[name]
	if !runs {
		return
	}
	at := o
	for _, field := range path {
		at = fields.Map(at, field)
	}
	if !hasAPI(fields.Map(at, "spec")) {
		return
	}
	takeAPI(podSpecOf(o, name))
}

// hasAPI reports whether a Pod's spec has what giveAPI adds.
func hasAPI(spec map[string]any) bool {
	return hasVolume(spec, isAccountVolume) || hasVolume(spec, hasWritten)
}

func hasVolume(spec map[string]any, such func(map[string]any) bool) bool {
	for v := range fields.Maps(spec, "volumes") {
		if such(v) {
			return true
		}
	}
	return false
}

// takeAPI is the inverse of giveAPI.
func takeAPI(spec map[string]any) {
	takeWritten(spec)
	mounted := without(spec, "volumes", isAccountVolume)
	for _, list := range containerLists {
		containers := slices.Clone(fields.List(spec, list))
		for i, c := range containers {
			if container, ok := c.(map[string]any); ok {
				container = maps.Clone(container)
				without(container, "volumeMounts", func(m map[string]any) bool {
					return m["name"] == store.PodAPIConfigMap && m["mountPath"] == accountDirectory
				})
				without(container, "env", isVariable)
				containers[i] = container
			}
		}
		if len(containers) > 0 {
			spec[list] = containers
		}
	}
	if mounted && spec["automountServiceAccountToken"] == false {
		delete(spec, "automountServiceAccountToken")
	}
}

func isAccountVolume(v map[string]any) bool {
	return v["name"] == store.PodAPIConfigMap && fields.Map(v, "projected") != nil
}

func isVariable(e map[string]any) bool {
	return fields.String(e, "valueFrom", "configMapKeyRef", "name") == store.PodAPIConfigMap &&
		slices.ContainsFunc(environment, func(v struct{ name, key string }) bool { return e["name"] == v.name })
}

// without removes elements of a list below m, and the list when nothing is left in it. It reports
// whether there were any.
func without(m map[string]any, field string, gone func(map[string]any) bool) bool {
	list := fields.List(m, field)
	out := make([]any, 0, len(list))
	for _, e := range list {
		if one, ok := e.(map[string]any); !ok || !gone(one) {
			out = append(out, e)
		}
	}
	switch {
	case len(out) == len(list):
		return false
	case len(out) == 0:
		delete(m, field)
	default:
		m[field] = out
	}
	return true
}
