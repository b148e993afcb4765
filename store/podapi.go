package store

import (
	"crypto/sha256"
	"encoding/hex"
)

// Names of what a pod needs in its namespace at a site to use the API of its space. The center puts
// references to them into pod templates, and the site's agent keeps them.
const (
	// PodAPI is an annotation of a workload: its pods use the API of their space as the
	// ServiceAccount that it names.
	PodAPI = "skerry.dev/space-api"
	// PodAPIConfigMap is the name of the ConfigMap with PodAPIHost and PodAPIPort, where the API is
	// found.
	PodAPIConfigMap = "skerry-space-api"
	PodAPIHost      = "host"
	PodAPIPort      = "port"
	// The keys of the Secret that PodAPISecret names are the files of a ServiceAccount's directory.
	PodAPIToken     = "token"
	PodAPICA        = "ca.crt"
	PodAPINamespace = "namespace"
)

// longestSecret is how long the name of a Secret may be.
const longestSecret = 253

// PodAPISecret is the name of the Secret with the credentials of a ServiceAccount.
func PodAPISecret(account string) string {
	name := PodAPIConfigMap + "-" + account
	if len(name) <= longestSecret {
		return name
	}
	sum := sha256.Sum256([]byte(account))
	digest := "-" + hex.EncodeToString(sum[:8])
	return name[:longestSecret-len(digest)] + digest
}
