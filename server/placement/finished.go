package placement

import (
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// Finished reports whether an object is a Job or a Pod that has run to its end: it would run again
// wherever it is sent.
func Finished(k store.Key, obj map[string]any) bool {
	status := fields.Map(obj, "status")
	switch k.Group + "/" + k.Resource {
	case "batch/jobs":
		done := false
		for c := range fields.Maps(status, "conditions") {
			done = done ||
				(fields.String(c, "type") == "Complete" || fields.String(c, "type") == "Failed") &&
					fields.String(c, "status") == "True"
		}
		return done
	case "/pods":
		phase := fields.String(status, "phase")
		return phase == "Succeeded" || phase == "Failed"
	}
	return false
}
