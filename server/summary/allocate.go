package summary

import (
	"fmt"
	"slices"
	"strings"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// allocate is the JSON patch after which a Service, a claim or a Pod shows what a target has chosen for
// it; nil when it does. A field that is empty, or holds what a target has chosen before, takes it;
// any other holds the user's wish and stays. Which is which stands in an annotation.
func allocate(obj map[string]any, uid string, f *store.Filled) []byte {
	meta := fields.Map(obj, "metadata")
	spec := fields.Map(obj, "spec")
	if meta["uid"] != uid || spec == nil {
		return nil
	}
	a := allocation{spec: spec, was: customize.Chosen(obj)}
	switch obj["kind"] {
	case "Service":
		a.address(f.ClusterIP)
		a.ports(f)
		a.families(f)
	case "Pod":
		a.controller(fields.List(meta, "ownerReferences"), f.Controller)
	default:
		a.now.VolumeName = a.text("volumeName", a.was.VolumeName, f.VolumeName)
		a.now.StorageClass = a.text("storageClassName", a.was.StorageClass, f.StorageClass)
	}
	notes := fields.Map(meta, "annotations")
	a.annotate(notes)
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
	have := fields.String(a.spec, "clusterIP")
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
	ports := fields.List(a.spec, "ports")
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

// text makes a field that is empty, or holds what a target chose before, hold what the target chose
// now. It returns what of that is the target's.
func (a *allocation) text(field, was, got string) string {
	have := fields.String(a.spec, field)
	switch {
	case have != was && have != "":
		return ""
	case got == have:
	case got == "":
		a.remove("/spec/" + field)
	default:
		a.set("/spec/"+field, got)
	}
	return got
}

// families are those of a Service's addresses. A target that does not tell them leaves them as they
// are shown.
func (a *allocation) families(f *store.Filled) {
	if a.spec["type"] == "ExternalName" {
		return
	}
	policy, families := f.IPFamilyPolicy, f.IPFamilies
	if policy == "" {
		policy = a.was.IPFamilyPolicy
	}
	a.now.IPFamilyPolicy = a.text("ipFamilyPolicy", a.was.IPFamilyPolicy, policy)
	have := fields.List(a.spec, "ipFamilies")
	if len(have) > 0 && !equalTexts(have, a.was.IPFamilies) {
		return
	}
	if len(families) == 0 {
		families = a.was.IPFamilies
	}
	if a.now.IPFamilies = families; len(families) > 0 && !equalTexts(have, families) {
		a.set("/spec/ipFamilies", families)
	}
}

func equalTexts(list []any, texts []string) bool {
	return slices.EqualFunc(list, texts, func(e any, s string) bool { return e == s })
}

// annotate makes AnnotationAllocated say what is the target's choice now.
func (a *allocation) annotate(notes map[string]any) {
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
}

func nodePortOf(f *store.Filled, port map[string]any) int64 {
	protocol := fields.String(port, "protocol")
	for _, p := range f.NodePorts {
		if p.Port == customize.Number(port["port"]) && p.Protocol == protocol {
			return p.NodePort
		}
	}
	return 0
}
