package placement

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// Hosts are the host names of the Pods of a StatefulSet, by which its Service has an address for each of them.
type Hosts struct {
	// Service is the Service that governs it.
	Service string
	// Names are written as a shell writes them: "db-{0..2}".
	Names string
}

// HostsOf returns the host names of the Pods of an object that asks for a number of replicas. It returns nil where
// they have none: it is no StatefulSet, no Service governs it, or the names of its Pods cannot be host names.
func HostsOf(k store.Key, obj map[string]any, replicas int64) *Hosts {
	if k.Group != "apps" || k.Resource != "statefulsets" || replicas <= 0 {
		return nil
	}
	spec := fields.Map(obj, "spec")
	service := fields.Clone(spec, "serviceName")
	if service == "" {
		return nil
	}
	first, _ := fields.Number(fields.Map(spec, "ordinals")["start"])
	last := first + replicas - 1
	if len(validation.IsDNS1123Label(fmt.Sprintf("%s-%d", k.Name, last))) > 0 {
		return nil
	}
	return &Hosts{service, fmt.Sprintf("%s-{%d..%d}", k.Name, first, last)}
}
