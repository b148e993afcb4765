package placement

import (
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
)

// DefaultAccount is the ServiceAccount of Pods that name none. Every namespace of a cluster has one,
// as every namespace of a space has.
const DefaultAccount = "default"

func isAccount(k store.Key) bool { return k.Group == "" && k.Resource == "serviceaccounts" }

// saysOfPods reports whether a ServiceAccount says something of its Pods: what a cluster puts into them,
// or labels and annotations, by which clouds give them identities.
func saysOfPods(account map[string]any) bool {
	automount, said := account["automountServiceAccountToken"].(bool)
	if said && !automount || len(fields.List(account, "imagePullSecrets")) > 0 {
		return true
	}
	for _, kind := range []string{"labels", "annotations"} {
		for name := range fields.Map(account, "metadata", kind) {
			if !exchange.IsSkerryKey(name) {
				return true
			}
		}
	}
	return false
}
