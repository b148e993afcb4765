package site

import (
	"slices"
	"strings"

	"skerry.dev/skerry/store"
)

// Protected reports whether an object, by its key at the target, is never deleted, whatever a
// tombstone says. The target cannot live without its own namespaces, its administrators' rights, and
// what its API server makes for itself.
func Protected(k store.Key) bool {
	switch k.Group + "/" + k.Resource {
	case "/namespaces":
		return k.Name == "default" || strings.HasPrefix(k.Name, "kube-")
	case "/services", "/endpoints", "discovery.k8s.io/endpointslices":
		return k.Namespace == "default" && k.Name == "kubernetes"
	case "/serviceaccounts":
		return IsDefaultAccount(k)
	case "/configmaps":
		return k.Name == "kube-root-ca.crt"
	case "rbac.authorization.k8s.io/clusterroles", "rbac.authorization.k8s.io/clusterrolebindings":
		return strings.HasPrefix(k.Name, "system:") ||
			slices.Contains([]string{"cluster-admin", "admin", "edit", "view"}, k.Name)
	case "scheduling.k8s.io/priorityclasses":
		return strings.HasPrefix(k.Name, "system-")
	case "flowcontrol.apiserver.k8s.io/flowschemas", "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations":
		return k.Name == "exempt" || k.Name == "catch-all" || strings.HasPrefix(k.Name, "system")
	default:
		return strings.HasPrefix(k.Name, "system:")
	}
}

// DefaultAccount is the ServiceAccount that the cluster makes in every namespace.
const DefaultAccount = "default"

// IsDefaultAccount reports whether a key is of such a ServiceAccount.
func IsDefaultAccount(k store.Key) bool {
	return k.Group == "" && k.Resource == "serviceaccounts" && k.Name == DefaultAccount
}
