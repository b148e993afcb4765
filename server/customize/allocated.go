package customize

import (
	"maps"
	"slices"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
)

// Unallocate removes from a Service or a claim what its target has chosen, and AnnotationAllocated,
// which tells that from what the user wishes. It changes the top level and the metadata of the
// object; what lies deeper is copied first.
func Unallocate(o map[string]any) { unallocate(o, Chosen(o)) }

func unallocate(o map[string]any, chosen v1alpha1.Allocated) {
	drop(fields.Map(o, "metadata"), "annotations", v1alpha1.AnnotationAllocated)
	spec := own(o, "spec")
	if spec == nil || chosen.String() == "" {
		return
	}
	if ip, _ := spec["clusterIP"].(string); ip != "" && ip == chosen.ClusterIP {
		delete(spec, "clusterIP")
		delete(spec, "clusterIPs")
	}
	if volume, _ := spec["volumeName"].(string); volume != "" && volume == chosen.VolumeName {
		delete(spec, "volumeName")
	}
	if class, _ := spec["storageClassName"].(string); class != "" && class == chosen.StorageClass {
		delete(spec, "storageClassName")
	}
	if policy, _ := spec["ipFamilyPolicy"].(string); policy != "" && policy == chosen.IPFamilyPolicy {
		delete(spec, "ipFamilyPolicy")
	}
	if families := texts(spec["ipFamilies"]); len(families) > 0 && slices.Equal(families, chosen.IPFamilies) {
		delete(spec, "ipFamilies")
	}
	if port := Number(spec["healthCheckNodePort"]); port != 0 && port == chosen.HealthCheckNodePort {
		delete(spec, "healthCheckNodePort")
	}
	ports := fields.List(spec, "ports")
	out := slices.Clone(ports)
	for i, p := range ports {
		if port, ok := p.(map[string]any); ok && chosen.HasNodePort(Number(port["nodePort"])) {
			port = maps.Clone(port)
			delete(port, "nodePort")
			out[i], spec["ports"] = port, out
		}
	}
}

// Chosen returns what the target of an object has chosen of it, as AnnotationAllocated says.
func Chosen(o map[string]any) v1alpha1.Allocated {
	return v1alpha1.ReadAllocated(fields.Map(o, "metadata", "annotations"))
}

// texts are the strings of a list.
func texts(v any) (out []string) {
	list, _ := v.([]any)
	for _, e := range list {
		s, _ := e.(string)
		out = append(out, s)
	}
	return out
}

// Number is a whole number of decoded JSON, of whatever type; 0 for anything else.
func Number(v any) int64 {
	n, _ := fields.Number(v)
	return n
}
