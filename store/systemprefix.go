package store

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// systemNames begin the names of namespaces that a cluster has for itself, and so has a space.
const systemNames = "kube-"

// longestSpace is how much of a space's name is in its SystemPrefix.
const longestSpace = 24

// IsSystem reports whether a namespace has a name that a site keeps for itself.
func IsSystem(namespace string) bool { return strings.HasPrefix(namespace, systemNames) }

// SystemPrefix stands before the names of the namespaces kube-* of a space at its sites, where the
// space has no prefix for all of its namespaces: a site keeps kube-* for itself. No namespace that
// people name is likely to have it. It has at most 31 characters.
func SystemPrefix(space string) string {
	sum := sha256.Sum256([]byte(systemNames + space))
	name := strings.ReplaceAll(space, ".", "-")
	name = strings.TrimRight(name[:min(len(name), longestSpace)], "-")
	return name + "-" + hex.EncodeToString(sum[:])[:5] + "-"
}
