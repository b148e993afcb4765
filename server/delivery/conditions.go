package delivery

import (
	"time"

	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
)

// conditions is a status.conditions list as last seen. It is shared with the object that it was
// read from: never change it.
type conditions []any

func readConditions(obj map[string]any) conditions {
	list := fields.List(obj, "status", "conditions")
	return list
}

// get returns the condition of a type, nil when there is none.
func (c conditions) get(t string) map[string]any {
	for _, e := range c {
		if m, ok := e.(map[string]any); ok && m["type"] == t {
			return m
		}
	}
	return nil
}

// with returns the list with one condition set, and whether that is a change. The time of
// transition moves only with the status. A Placement's conditions also say which generation they
// are about.
func (c conditions) with(n placement.Condition, generation int64, now time.Time) (conditions, bool) {
	status := "False"
	if n.Status {
		status = "True"
	}
	old := c.get(n.Type)
	if old != nil && old["status"] == status && old["reason"] == n.Reason && old["message"] == n.Message &&
		customize.Number(old["observedGeneration"]) == generation {
		return c, false
	}
	m := map[string]any{"type": n.Type, "status": status, "reason": n.Reason, "message": n.Message,
		"lastTransitionTime": now.UTC().Format(time.RFC3339)}
	if generation > 0 {
		m["observedGeneration"] = generation
	}
	if old != nil && old["status"] == status {
		m["lastTransitionTime"] = old["lastTransitionTime"]
	}
	out := make(conditions, 0, len(c)+1)
	for _, e := range c {
		if o, ok := e.(map[string]any); !ok || o["type"] != n.Type {
			out = append(out, e)
		}
	}
	return append(out, m), true
}
