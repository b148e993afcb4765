package placement

import (
	"strings"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// References returns the keys of the PriorityClass, ConfigMaps, Secrets, ServiceAccounts, claims
// and the governing Service that a workload names, the Secrets of an Ingress, and those by which the
// Pods of a ServiceAccount pull images, each once, in the order of their first mention. It is nil for
// other kinds.
func References(k store.Key, obj map[string]any) []store.Key {
	spec := fields.Map(obj, "spec")
	pod, ingress := podSpec(k, spec), k.Group == "networking.k8s.io" && k.Resource == "ingresses"
	account := isAccount(k)
	if pod == nil && !ingress && !account {
		return nil
	}
	r := refs{space: k.Space, namespace: k.Namespace, seen: map[store.Key]bool{}}
	if account {
		r.pull(obj)
		return r.keys
	}
	if k.Resource == "statefulsets" {
		r.add("services", fields.String(spec, "serviceName"))
	}
	for t := range fields.Maps(spec, "tls") {
		if ingress {
			r.add("secrets", fields.String(t, "secretName"))
		}
	}
	r.pod(pod)
	return r.keys
}

// HasClaimTemplates reports whether a StatefulSet makes volumes of its own.
func HasClaimTemplates(obj map[string]any) bool {
	list := fields.List(obj, "spec", "volumeClaimTemplates")
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
		spec = fields.Map(spec, field)
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
	if class := fields.String(pod, "priorityClassName"); class != "" && !strings.HasPrefix(class, "system-") {
		k := store.Key{Space: r.space, Group: "scheduling.k8s.io", Resource: "priorityclasses", Name: class}
		r.seen[k] = true
		r.keys = append(r.keys, k)
	}
	if sa := fields.String(pod, "serviceAccountName"); sa != DefaultAccount {
		r.add("serviceaccounts", sa)
	}
	r.pull(pod)
	for v := range fields.Maps(pod, "volumes") {
		r.volume(v)
	}
	for _, list := range []string{"initContainers", "containers", "ephemeralContainers"} {
		for c := range fields.Maps(pod, list) {
			r.container(c)
		}
	}
}

func (r *refs) pull(of map[string]any) {
	for s := range fields.Maps(of, "imagePullSecrets") {
		r.add("secrets", fields.String(s, "name"))
	}
}

func (r *refs) volume(v map[string]any) {
	r.add("configmaps", fields.String(v, "configMap", "name"))
	r.add("secrets", fields.String(v, "secret", "secretName"))
	r.add("persistentvolumeclaims", fields.String(v, "persistentVolumeClaim", "claimName"))
	for s := range fields.Maps(v, "projected", "sources") {
		r.add("configmaps", fields.String(s, "configMap", "name"))
		r.add("secrets", fields.String(s, "secret", "name"))
	}
	for _, driver := range []string{"cephfs", "cinder", "csi", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos"} {
		for _, field := range []string{"secretRef", "nodePublishSecretRef"} {
			r.add("secrets", fields.String(v, driver, field, "name"))
		}
	}
	r.add("secrets", fields.String(v, "azureFile", "secretName"))
}

func (r *refs) container(c map[string]any) {
	for e := range fields.Maps(c, "env") {
		from := fields.Map(e, "valueFrom")
		r.add("configmaps", fields.String(from, "configMapKeyRef", "name"))
		r.add("secrets", fields.String(from, "secretKeyRef", "name"))
	}
	for e := range fields.Maps(c, "envFrom") {
		r.add("configmaps", fields.String(e, "configMapRef", "name"))
		r.add("secrets", fields.String(e, "secretRef", "name"))
	}
}
