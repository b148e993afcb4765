package v1alpha1

// A rotation of the keys that encrypt Secrets is asked for by a ConfigMap of root: an admin writes
// the request, any text that is new; the center does it and writes the rest.
const (
	EncryptionNamespace = "kube-system"
	EncryptionName      = "skerry-encryption"
	// EncryptionRequestKey is what is asked for, EncryptionDoneKey the last request that was done.
	EncryptionRequestKey = "request"
	EncryptionDoneKey    = "done"
	// EncryptionKeysKey names, as JSON, what encrypts each resource; EncryptionRewrittenKey is how
	// many values the last rotation encrypted anew.
	EncryptionKeysKey      = "keys"
	EncryptionRewrittenKey = "rewritten"
)
