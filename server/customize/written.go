package customize

import (
	"maps"
	"slices"
	"strings"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// Templates of some makers bring the volume with the token of their ServiceAccount themselves, and
// switch off the one that a cluster adds. giveWritten has such volumes filled with the credentials
// for the API of the space, source by source, and takeWritten is its inverse.

const (
	rootCA         = "kube-root-ca.crt" // the ConfigMap that each namespace of a cluster has
	namespaceField = "metadata.namespace"
	// tokenLife is that of the tokens that Kubernetes adds. How long a template wants it to be is not
	// kept: whose token it is decides that.
	tokenLife = 3607
)

// giveWritten changes the volumes of a Pod's spec that hold a token for the API, and returns their
// names.
func giveWritten(spec map[string]any, account string) (names map[string]bool) {
	volumes := slices.Clone(fields.List(spec, "volumes"))
	for i, v := range volumes {
		volume, ok := v.(map[string]any)
		if !ok || !placement.WritesToken(volume) {
			continue
		}
		if names == nil {
			names = map[string]bool{}
		}
		names[fields.String(volume, "name")] = true
		volumes[i] = withSources(volume, func(source map[string]any) map[string]any { return fromSecret(source, account) })
	}
	if names != nil {
		spec["volumes"] = volumes
	}
	return names
}

// takeWritten makes volumes what they were before giveWritten.
func takeWritten(spec map[string]any) {
	volumes := slices.Clone(fields.List(spec, "volumes"))
	for i, v := range volumes {
		if volume, ok := v.(map[string]any); ok && hasWritten(volume) {
			volumes[i] = withSources(volume, asWritten)
		}
	}
	if len(volumes) > 0 {
		spec["volumes"] = volumes
	}
}

// hasWritten reports whether giveWritten has changed a volume.
func hasWritten(volume map[string]any) bool {
	for source := range fields.Maps(volume, "projected", "sources") {
		if key, _ := secretItem(source); key == store.PodAPIToken && volume["name"] != store.PodAPIConfigMap {
			return true
		}
	}
	return false
}

// withSources is a copy of a projected volume with other sources.
func withSources(volume map[string]any, other func(map[string]any) map[string]any) map[string]any {
	volume = maps.Clone(volume)
	sources := slices.Clone(fields.List(own(volume, "projected"), "sources"))
	for i, s := range sources {
		if source, ok := s.(map[string]any); ok {
			sources[i] = other(source)
		}
	}
	fields.Map(volume, "projected")["sources"] = sources
	return volume
}

// fromSecret is a source that takes the same file from the Secret with the credentials of an
// account, or the source itself.
func fromSecret(source map[string]any, account string) map[string]any {
	from := func(key string, file map[string]any) map[string]any {
		item := map[string]any{"key": key, "path": file["path"]}
		if mode, ok := file["mode"]; ok {
			item["mode"] = mode
		}
		return map[string]any{"secret": map[string]any{"name": store.PodAPISecret(account), "items": []any{item}}}
	}
	if token := fields.Map(source, "serviceAccountToken"); placement.IsOwnToken(token) {
		return from(store.PodAPIToken, token)
	}
	if cm := fields.Map(source, "configMap"); fields.String(cm, "name") == rootCA {
		items := slices.Collect(fields.Maps(cm, "items"))
		switch {
		case len(items) == 0:
			return from(store.PodAPICA, map[string]any{"path": store.PodAPICA})
		case len(items) == 1 && items[0]["key"] == store.PodAPICA:
			return from(store.PodAPICA, items[0])
		}
	}
	// What the cluster calls the namespace may be another name than the space's.
	items := slices.Collect(fields.Maps(source, "downwardAPI", "items"))
	if len(items) == 1 && fields.String(items[0], "fieldRef", "fieldPath") == namespaceField {
		return from(store.PodAPINamespace, items[0])
	}
	return source
}

// asWritten is the source that fromSecret has replaced, or the source itself.
func asWritten(source map[string]any) map[string]any {
	key, item := secretItem(source)
	file := maps.Clone(item)
	switch key {
	case store.PodAPIToken:
		delete(file, "key")
		file["expirationSeconds"] = tokenLife
		return map[string]any{"serviceAccountToken": file}
	case store.PodAPICA:
		return map[string]any{"configMap": map[string]any{"name": rootCA, "items": []any{file}}}
	case store.PodAPINamespace:
		delete(file, "key")
		file["fieldRef"] = map[string]any{"apiVersion": "v1", "fieldPath": namespaceField}
		return map[string]any{"downwardAPI": map[string]any{"items": []any{file}}}
	}
	return source
}

// secretItem is the one item that a source takes from a Secret with credentials, and its key; "" for
// other sources.
func secretItem(source map[string]any) (key string, item map[string]any) {
	if !strings.HasPrefix(fields.String(source, "secret", "name"), store.PodAPIConfigMap+"-") {
		return "", nil
	}
	items := slices.Collect(fields.Maps(source, "secret", "items"))
	if len(items) != 1 {
		return "", nil
	}
	return fields.String(items[0], "key"), items[0]
}
