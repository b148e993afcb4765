package customize

import (
	"encoding/json"
	"maps"
	"slices"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
)

// Unallocate takes off a Service or a claim what its target has chosen, and the mark that tells it
// from what the user wishes. The top level and the metadata of the object are changed; what lies
// deeper is copied first.
func Unallocate(o map[string]any) { unallocate(o, Chosen(o)) }

func unallocate(o map[string]any, chosen v1alpha1.Allocated) {
	drop(fields.Map(o, "metadata"), "annotations", v1alpha1.AnnotationAllocated, v1alpha1.AnnotationNodePorts)
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

// Chosen is what the target of an object has chosen of it. A center that did not write it down yet
// overwrote every cluster IP with its target's: of what it stored a cluster IP counts that it has
// written itself, which its mark or the managers of the object's fields tell.
func Chosen(o map[string]any) v1alpha1.Allocated {
	notes := fields.Map(o, "metadata", "annotations")
	chosen := v1alpha1.ReadAllocated(notes)
	if ip, _ := fields.Map(o, "spec")["clusterIP"].(string); chosen.ClusterIP == "" && ip != "" && ip != "None" &&
		notes[v1alpha1.AnnotationAllocated] == nil &&
		(notes[v1alpha1.AnnotationNodePorts] != nil || addressedByCenter(o)) {
		chosen.ClusterIP = ip
	}
	return chosen
}

// addressedByCenter reports whether the center itself has set the cluster IP of a Service; what it
// delivers for a parent it applies.
func addressedByCenter(o map[string]any) bool {
	managers := fields.List(o, "metadata", "managedFields")
	for _, m := range managers {
		entry, _ := m.(map[string]any)
		_, addressed := fields.Map(entry, "fieldsV1", "f:spec")["f:clusterIP"]
		if addressed && entry["manager"] == "skerry" && entry["operation"] == "Update" {
			return true
		}
	}
	return false
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
	switch n := v.(type) {
	case int64:
		return n
	case int:
		return int64(n)
	case int32:
		return int64(n)
	case float64:
		return int64(n)
	case json.Number:
		i, _ := n.Int64()
		return i
	}
	return 0
}
