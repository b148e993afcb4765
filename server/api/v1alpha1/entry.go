package v1alpha1

// The center's own entry from outside.
const (
	// IngressClass is the class of Ingresses that the center serves itself, see SpaceSpec.Hosts.
	IngressClass = "skerry"

	// AnnotationTLS on an Ingress of the class skerry, as TLSPassthrough, has TLS of its hosts end at the Pods.
	AnnotationTLS = "skerry.dev/tls"
	// TLSPassthrough passes TLS on as it is, by its server name.
	TLSPassthrough = "passthrough"
)
