package summary

import (
	"fmt"
	"strings"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/store"
)

// allocate is the JSON patch after which a Service or a claim shows what a target has chosen for it; nil when it does. A field that is empty, or holds what
// a target has chosen before, takes it; any other holds the user's wish and stays. Which is which stands in an annotation.
func allocate(obj map[string]any, uid string, f *store.Filled) []byte {
	meta, _ := obj["metadata"].(map[string]any)
	spec, _ := obj["spec"].(map[string]any)
	if meta["uid"] != uid || spec == nil {
		return nil
	}
	a := allocation{spec: spec, was: customize.Chosen(obj)}
	if obj["kind"] == "Service" {
		a.address(f.ClusterIP)
		a.ports(f)
	} else {
		a.volume(f.VolumeName)
	}
	notes, _ := meta["annotations"].(map[string]any)
	a.mark(notes)
	if len(a.ops) == 0 {
		return nil
	}
	a.set("/metadata/resourceVersion", meta["resourceVersion"])
	return encode(append([]any{map[string]any{"op": "test", "path": "/metadata/uid", "value": uid}}, a.ops...))
}

// allocation is a patch in the making.
type allocation struct {
	spec     map[string]any
	was, now v1alpha1.Allocated
	ops      []any
}

func (a *allocation) set(path string, v any) {
	a.ops = append(a.ops, map[string]any{"op": "add", "path": path, "value": v})
}

func (a *allocation) remove(path string) {
	a.ops = append(a.ops, map[string]any{"op": "remove", "path": path})
}

func (a *allocation) address(got string) {
	have, _ := a.spec["clusterIP"].(string)
	if have != a.was.ClusterIP && have != "" || a.spec["type"] == "ExternalName" {
		return
	}
	if a.now.ClusterIP = have; got != "" && got != have {
		a.now.ClusterIP = got
		a.set("/spec/clusterIP", got)
		a.set("/spec/clusterIPs", []any{got})
	}
}

func (a *allocation) ports(f *store.Filled) {
	ports, _ := a.spec["ports"].([]any)
	for i, p := range ports {
		port, _ := p.(map[string]any)
		have := customize.Number(port["nodePort"])
		got := nodePortOf(f, port)
		if have != 0 && !a.was.HasNodePort(have) || have == 0 && got == 0 {
			continue
		}
		if got != 0 && got != have {
			a.set(fmt.Sprintf("/spec/ports/%d/nodePort", i), got)
			have = got
		}
		a.now.NodePorts = append(a.now.NodePorts, have)
	}
	have := customize.Number(a.spec["healthCheckNodePort"])
	if have != a.was.HealthCheckNodePort && have != 0 {
		return
	}
	if a.now.HealthCheckNodePort = have; f.HealthCheckNodePort != 0 && f.HealthCheckNodePort != have {
		a.now.HealthCheckNodePort = f.HealthCheckNodePort
		a.set("/spec/healthCheckNodePort", f.HealthCheckNodePort)
	}
}

func (a *allocation) volume(got string) {
	have, _ := a.spec["volumeName"].(string)
	if have != a.was.VolumeName && have != "" {
		return
	}
	switch a.now.VolumeName = got; {
	case got == have:
	case got == "":
		a.remove("/spec/volumeName")
	default:
		a.set("/spec/volumeName", got)
	}
}

// mark says in the annotation what is the target's choice now, and nothing any more in that of older centers.
func (a *allocation) mark(notes map[string]any) {
	path := func(name string) string { return "/metadata/annotations/" + strings.ReplaceAll(name, "/", "~1") }
	text, had := a.now.String(), notes[v1alpha1.AnnotationAllocated]
	switch {
	case text == "" && had != nil:
		a.remove(path(v1alpha1.AnnotationAllocated))
	case text == "" || text == had:
	case notes == nil:
		a.set("/metadata/annotations", map[string]any{v1alpha1.AnnotationAllocated: text})
	default:
		a.set(path(v1alpha1.AnnotationAllocated), text)
	}
	if _, old := notes[v1alpha1.AnnotationNodePorts]; old {
		a.remove(path(v1alpha1.AnnotationNodePorts))
	}
}

func nodePortOf(f *store.Filled, port map[string]any) int64 {
	protocol, _ := port["protocol"].(string)
	for _, p := range f.NodePorts {
		if p.Port == customize.Number(port["port"]) && p.Protocol == protocol {
			return p.NodePort
		}
	}
	return 0
}
