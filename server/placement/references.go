package placement

import (
	"strings"

	"skerry.dev/skerry/store"
)

// References returns the keys of the PriorityClass, ConfigMaps, Secrets, ServiceAccounts, claims
// and the governing Service that a workload names, each once, in the order of their first mention.
// It is nil for other kinds.
func References(k store.Key, obj map[string]any) []store.Key {
	spec := child(obj, "spec")
	pod := podSpec(k, spec)
	if pod == nil {
		return nil
	}
	r := refs{space: k.Space, namespace: k.Namespace, seen: map[store.Key]bool{}}
	if k.Resource == "statefulsets" {
		r.add("services", text(spec, "serviceName"))
	}
	r.pod(pod)
	return r.keys
}

// HasClaimTemplates reports whether a StatefulSet makes volumes of its own.
func HasClaimTemplates(obj map[string]any) bool {
	list, _ := child(obj, "spec")["volumeClaimTemplates"].([]any)
	return len(list) > 0
}

// podPaths are the kinds that run pods, and the fields below spec where the pods' spec is.
var podPaths = map[string][]string{
	"/pods":                   {},
	"/replicationcontrollers": {"template", "spec"},
	"apps/deployments":        {"template", "spec"},
	"apps/statefulsets":       {"template", "spec"},
	"apps/daemonsets":         {"template", "spec"},
	"apps/replicasets":        {"template", "spec"},
	"batch/jobs":              {"template", "spec"},
	"batch/cronjobs":          {"jobTemplate", "spec", "template", "spec"},
}

// podSpec is the spec of a workload's pods, nil for other kinds.
func podSpec(k store.Key, spec map[string]any) map[string]any {
	path, runs := podPaths[k.Group+"/"+k.Resource]
	if !runs {
		return nil
	}
	for _, field := range path {
		spec = child(spec, field)
	}
	return spec
}

type refs struct {
	space, namespace string
	seen             map[store.Key]bool
	keys             []store.Key
}

func (r *refs) add(resource, name string) {
	k := store.Key{Space: r.space, Resource: resource, Namespace: r.namespace, Name: name}
	if name == "" || r.seen[k] {
		return
	}
	r.seen[k] = true
	r.keys = append(r.keys, k)
}

func (r *refs) pod(pod map[string]any) {
	if class := text(pod, "priorityClassName"); class != "" && !strings.HasPrefix(class, "system-") {
		k := store.Key{Space: r.space, Group: "scheduling.k8s.io", Resource: "priorityclasses", Name: class}
		r.seen[k] = true
		r.keys = append(r.keys, k)
	}
	if sa := text(pod, "serviceAccountName"); sa != "default" {
		r.add("serviceaccounts", sa)
	}
	each(pod, "imagePullSecrets", func(s map[string]any) { r.add("secrets", text(s, "name")) })
	each(pod, "volumes", r.volume)
	for _, list := range []string{"initContainers", "containers", "ephemeralContainers"} {
		each(pod, list, r.container)
	}
}

func (r *refs) volume(v map[string]any) {
	r.add("configmaps", text(child(v, "configMap"), "name"))
	r.add("secrets", text(child(v, "secret"), "secretName"))
	r.add("persistentvolumeclaims", text(child(v, "persistentVolumeClaim"), "claimName"))
	each(child(v, "projected"), "sources", func(s map[string]any) {
		r.add("configmaps", text(child(s, "configMap"), "name"))
		r.add("secrets", text(child(s, "secret"), "name"))
	})
	for _, driver := range []string{"cephfs", "cinder", "csi", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos"} {
		for _, field := range []string{"secretRef", "nodePublishSecretRef"} {
			r.add("secrets", text(child(child(v, driver), field), "name"))
		}
	}
	r.add("secrets", text(child(v, "azureFile"), "secretName"))
}

func (r *refs) container(c map[string]any) {
	each(c, "env", func(e map[string]any) {
		from := child(e, "valueFrom")
		r.add("configmaps", text(child(from, "configMapKeyRef"), "name"))
		r.add("secrets", text(child(from, "secretKeyRef"), "name"))
	})
	each(c, "envFrom", func(e map[string]any) {
		r.add("configmaps", text(child(e, "configMapRef"), "name"))
		r.add("secrets", text(child(e, "secretRef"), "name"))
	})
}

func child(m map[string]any, field string) map[string]any {
	c, _ := m[field].(map[string]any)
	return c
}

func text(m map[string]any, field string) string {
	s, _ := m[field].(string)
	return s
}

func each(m map[string]any, field string, visit func(map[string]any)) {
	list, _ := m[field].([]any)
	for _, e := range list {
		if c, ok := e.(map[string]any); ok {
			visit(c)
		}
	}
}
