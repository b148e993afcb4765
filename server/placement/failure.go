package placement

import (
	"encoding/json"

	"skerry.dev/skerry/store"
)

// Failure tells whether an object that is applied at a target has failed there by its own status, and
// in which words. It knows what built-in kinds say and the conditions Failed and Stalled of others;
// what only has not become ready has not failed.
func Failure(k store.Key, r store.Report) (reason, message string, failed bool) {
	if len(r.Status) == 0 {
		return "", "", false
	}
	var status struct {
		Phase, Reason, Message string
		Conditions             []struct{ Type, Status, Reason, Message string }
	}
	if json.Unmarshal(r.Status, &status) != nil {
		return "", "", false
	}
	bad := map[string]string{}
	switch k.Group + "/" + k.Resource {
	case "/pods":
		if status.Phase == "Failed" {
			return orWord(status.Reason, "Failed"), status.Message, true
		}
		return "", "", false
	case "apps/deployments":
		bad = map[string]string{"Progressing": "False", "ReplicaFailure": "True"}
	case "apps/replicasets", "/replicationcontrollers":
		bad = map[string]string{"ReplicaFailure": "True"}
	case "batch/jobs":
		bad = map[string]string{"Failed": "True"}
	default:
		if !BuiltIn(k.Group) {
			bad = map[string]string{"Failed": "True", "Stalled": "True"}
		}
	}
	for _, c := range status.Conditions {
		if is, ok := bad[c.Type]; ok && is == c.Status {
			return orWord(c.Reason, c.Type), c.Message, true
		}
	}
	return "", "", false
}

func orWord(reason, otherwise string) string {
	if reason == "" {
		return otherwise
	}
	return reason
}
