package target

import "skerry.dev/skerry/store"

// mirrored reports whether an object has a name of its own at the cluster: webhook configurations
// have no namespace, and two spaces may give them one name.
func mirrored(k store.Key) bool {
	return k.Group == "admissionregistration.k8s.io" &&
		(k.Resource == "mutatingwebhookconfigurations" || k.Resource == "validatingwebhookconfigurations")
}

// mirrorPrefix begins the names of a space's webhook configurations at the cluster. The name of a
// space has no dot, so the prefixes of two spaces never begin each other.
func mirrorPrefix(space string) string { return "skerry-" + space + "." }

// AccountName is the user as whom the client of a space writes, see As.
func (c *Client) AccountName(space string) string {
	return "system:serviceaccount:" + c.spaces + ":" + space
}
