package ingress

import (
	"fmt"
	"strconv"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// NotServed is the reason of the Event of an Ingress of which something is not served.
const NotServed = "IngressNotServed"

func notGranted(host string) string {
	return fmt.Sprintf("host %s is not served: the space was not granted it; ask the center's admin for it, who grants "+
		"hosts by spec.hosts of the Space", host)
}

func unreached(service string) string {
	return fmt.Sprintf("Service %s is not called: it does not reach its space; write the annotation %s: %s on it, on its "+
		"Namespace, or have the admin say so of the Space", service, v1alpha1.AnnotationReach, v1alpha1.ReachSpace)
}

// port is how a Backend names its port.
func (b Backend) port() string {
	if b.Name != "" {
		return b.Name
	}
	return strconv.FormatInt(b.Port, 10)
}
