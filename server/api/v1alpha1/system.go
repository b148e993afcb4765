package v1alpha1

// What the namespace kube-system of a space has for servers that delegate authentication to its API,
// as in a cluster.
const (
	// AuthenticationConfig is the ConfigMap that says whose certificates and headers to trust.
	AuthenticationConfig = "extension-apiserver-authentication"
	// AuthenticationReader is the Role that lets it be read.
	AuthenticationReader = "extension-apiserver-authentication-reader"
)

// IsOfSystem reports whether an object is one of these. The center makes both in each space that is
// in use.
func IsOfSystem(group, resource, namespace, name string) bool {
	if namespace != "kube-system" {
		return false
	}
	return group == "" && resource == "configmaps" && name == AuthenticationConfig ||
		group == "rbac.authorization.k8s.io" && resource == "roles" && name == AuthenticationReader
}
