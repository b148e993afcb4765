package observe

import (
	"encoding/json"
	"hash/fnv"
	"io"
	"slices"

	"skerry.dev/skerry/store"
)

// news is what of a report is urgent: whether the target refuses the object, and a digest of its
// conditions.
type news struct {
	failed     bool
	conditions uint64
}

// newsLocked is what of the record is urgent now. o.mu must be held.
func (rec *record) newsLocked() news { return news{rec.error() != nil, rec.conditions} }

// priorityLocked returns how urgent the report is, given the last report. o.mu must be held.
func (rec *record) priorityLocked() store.Priority {
	now := rec.newsLocked()
	switch {
	case rec.event != nil:
		return store.PriorityEvent
	case now.failed || rec.told.failed:
		return store.PriorityError
	case rec.object != nil:
		return store.PriorityAssociated
	case now.conditions != rec.told.conditions:
		return store.PriorityCondition
	default:
		return store.PriorityState
	}
}

// conditionsOf is a digest of the types and statuses of a status's conditions, whatever their
// order; 0 where there are none.
func conditionsOf(status []byte) uint64 {
	var is struct {
		Conditions []struct{ Type, Status string } `json:"conditions"`
	}
	if json.Unmarshal(status, &is) != nil || len(is.Conditions) == 0 {
		return 0
	}
	var said []string
	for _, c := range is.Conditions {
		said = append(said, c.Type+"="+c.Status+"\n")
	}
	slices.Sort(said)
	h := fnv.New64a()
	for _, s := range said {
		_, _ = io.WriteString(h, s) // a hash never fails
	}
	return h.Sum64()
}
