package observe

import (
	"encoding/json"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
)

// sight returns what was seen last.
func (rec *record) sight() inventory.Sight {
	return inventory.Sight{
		UID:      rec.uid,
		Revision: rec.revision,
		Owned:    rec.owned,
		Content:  rec.content,
		Finished: rec.finished,
	}
}

// finished reports whether a placed Job or Pod has finished. A Pod that is being deleted has not:
// it was ended.
func finished(r resource, live *target.Object) bool {
	var status struct {
		Phase      string
		Conditions []struct{ Type, Status string }
	}
	switch r {
	case jobResource:
		if json.Unmarshal(live.Status, &status) != nil {
			return false
		}
		for _, c := range status.Conditions {
			if (c.Type == "Complete" || c.Type == "Failed") && c.Status == "True" {
				return true
			}
		}
		return false
	case podResource:
		return live.Metadata.DeletionTimestamp == "" && json.Unmarshal(live.Status, &status) == nil &&
			(status.Phase == "Succeeded" || status.Phase == "Failed")
	default:
		return false
	}
}
