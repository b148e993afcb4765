package apply

import (
	"encoding/json"
	"fmt"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// syncPolicy is the Placement's policy for one object, from the annotation skerry.dev/sync of the
// delivered body. An unknown value comes from a newer center, and counts as the one that changes
// least.
type syncPolicy struct {
	WhenAlreadyExists    string   `json:"whenAlreadyExists,omitempty"`
	WhenDrifted          string   `json:"whenDrifted,omitempty"`
	WhenPlacementDeleted string   `json:"whenPlacementDeleted,omitempty"`
	RetainFields         []string `json:"retainFields,omitempty"`
}

// syncPolicyOf reads the policy of a delivered object; the default where it says nothing.
func syncPolicyOf(o *target.Object) (syncPolicy, error) {
	p := syncPolicy{}
	text := o.Metadata.Annotations[target.AnnotationSync]
	if text == "" {
		return p, nil
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return p, fmt.Errorf("read annotation %s: %w", target.AnnotationSync, err)
	}
	return p, nil
}

func (p syncPolicy) takesOver() bool      { return p.WhenAlreadyExists == "TakeOver" }
func (p syncPolicy) takesOverEqual() bool { return p.WhenAlreadyExists == "TakeOverIfNoDiff" }
func (p syncPolicy) restores() bool       { return p.WhenDrifted == "" || p.WhenDrifted == "Restore" }
func (p syncPolicy) cleansWithPlace() bool {
	return p.WhenPlacementDeleted == "" || p.WhenPlacementDeleted == "Clean"
}

// removal is how a tombstone is carried out. Where the parent does not know why the object went,
// the object's policy decides; in doubt nothing is deleted.
func removal(e store.Entry, was *target.Object) store.Removal {
	if e.Removal != store.RemoveByPolicy {
		return e.Removal
	}
	if p, err := syncPolicyOf(was); err != nil || !p.cleansWithPlace() {
		return store.RemoveOrphan
	}
	return store.RemoveDelete
}
