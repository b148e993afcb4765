package customize

import (
	"maps"
	"slices"
	"strings"

	"skerry.dev/skerry/server/fields"
)

// tokenVolume is how Kubernetes begins the names of the volumes by which it mounts tokens into Pods.
const tokenVolume = "kube-api-access-"

// dropToken takes out of the spec of a Pod the token that its cluster has mounted: the Pod is a copy of
// another one, as kubectl debug and backups make them. The target mounts its own.
func dropToken(spec map[string]any) {
	if spec["automountServiceAccountToken"] == false {
		return
	}
	names := map[string]bool{}
	for v := range fields.Maps(spec, "volumes") {
		if name := fields.String(v, "name"); strings.HasPrefix(name, tokenVolume) && fields.Map(v, "projected") != nil {
			names[name] = true
		}
	}
	if len(names) == 0 {
		return
	}
	mounted := func(m map[string]any) bool {
		return names[fields.String(m, "name")] && fields.String(m, "mountPath") == accountDirectory
	}
	without(spec, "volumes", func(v map[string]any) bool { return names[fields.String(v, "name")] })
	for _, list := range containerLists {
		containers := slices.Clone(fields.List(spec, list))
		for i, c := range containers {
			if container, ok := c.(map[string]any); ok {
				container = maps.Clone(container)
				without(container, "volumeMounts", mounted)
				containers[i] = container
			}
		}
		if len(containers) > 0 {
			spec[list] = containers
		}
	}
}
