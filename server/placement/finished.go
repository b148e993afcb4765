package placement

import "skerry.dev/skerry/store"

// Finished reports whether an object is a Job or a Pod that has run to its end: it would run again
// wherever it is sent.
func Finished(k store.Key, obj map[string]any) bool {
	status := child(obj, "status")
	switch k.Group + "/" + k.Resource {
	case "batch/jobs":
		done := false
		each(status, "conditions", func(c map[string]any) {
			done = done || (text(c, "type") == "Complete" || text(c, "type") == "Failed") && text(c, "status") == "True"
		})
		return done
	case "/pods":
		phase := text(status, "phase")
		return phase == "Succeeded" || phase == "Failed"
	}
	return false
}
