package apply

import (
	"encoding/json"
	"fmt"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// policy is how one object is kept: what its Placement says, as it stands in the mark skerry.dev/sync of the delivered body. Values that
// this agent does not know come from a newer center, and are taken as the one that changes least.
type policy struct {
	WhenAlreadyExists    string   `json:"whenAlreadyExists,omitempty"`
	WhenDrifted          string   `json:"whenDrifted,omitempty"`
	WhenPlacementDeleted string   `json:"whenPlacementDeleted,omitempty"`
	RetainFields         []string `json:"retainFields,omitempty"`
}

// policyOf reads the policy of a delivered object; the default where it says nothing.
func policyOf(o *target.Object) (policy, error) {
	p := policy{}
	text := o.Metadata.Annotations[target.AnnotationSync]
	if text == "" {
		return p, nil
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return p, fmt.Errorf("read annotation %s: %w", target.AnnotationSync, err)
	}
	return p, nil
}

func (p policy) takesOver() bool      { return p.WhenAlreadyExists == "TakeOver" }
func (p policy) takesOverEqual() bool { return p.WhenAlreadyExists == "TakeOverIfNoDiff" }
func (p policy) restores() bool       { return p.WhenDrifted == "" || p.WhenDrifted == "Restore" }
func (p policy) cleansWithPlace() bool {
	return p.WhenPlacementDeleted == "" || p.WhenPlacementDeleted == "Clean"
}

// removal is how a tombstone is carried out. Where the parent does not know why the object went, the object's policy decides; in doubt
// nothing is deleted.
func removal(e store.Entry, was *target.Object) store.Removal {
	if e.Removal != store.RemoveByPolicy {
		return e.Removal
	}
	if p, err := policyOf(was); err != nil || !p.cleansWithPlace() {
		return store.RemoveOrphan
	}
	return store.RemoveDelete
}
