package customize

import (
	"errors"
	"slices"

	"skerry.dev/skerry/server/fields"
)

// entries are the fields of a Service by which others than Pods come to it.
var entries = []string{"externalIPs", "externalTrafficPolicy", "healthCheckNodePort", "allocateLoadBalancerNodePorts",
	"loadBalancerIP", "loadBalancerSourceRanges", "loadBalancerClass"}

// HasMoreThanName reports whether a Service is more than its name: a target that has none of its Pods takes nobody
// in for it from outside.
func HasMoreThanName(service map[string]any) bool {
	spec := fields.Map(service, "spec")
	if kind := fields.String(spec, "type"); kind != "" && kind != "ClusterIP" {
		return true
	}
	if fields.String(spec, "internalTrafficPolicy") == "Local" {
		return true // to Pods of the caller's node, and here there are none
	}
	return slices.ContainsFunc(entries, func(field string) bool { return spec[field] != nil })
}

// Name returns the body of a rendered Service as far as it is its name: a ClusterIP for Pods.
func Name(body []byte) ([]byte, error) {
	o, err := decode(body)
	if err != nil {
		return nil, err
	}
	spec := fields.Map(o, "spec")
	if spec == nil {
		return nil, errors.New("it has no spec")
	}
	spec["type"] = "ClusterIP"
	delete(spec, "internalTrafficPolicy")
	for _, field := range entries {
		delete(spec, field)
	}
	for port := range fields.Maps(spec, "ports") {
		delete(port, "nodePort")
	}
	return encode(o)
}
