package placement

import (
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// Ends reports whether an object runs to an end of its own, and must not begin anew elsewhere once it has
// begun: a Job, a Pod that is not restarted for ever, and a CronJob for the sake of the Jobs that it starts.
func Ends(k store.Key, obj map[string]any) bool {
	switch k.Group + "/" + k.Resource {
	case "batch/jobs", "batch/cronjobs":
		return true
	case "/pods":
		policy := fields.String(obj, "spec", "restartPolicy")
		return policy == "Never" || policy == "OnFailure"
	}
	return false
}

// StartsOneAtATime reports whether an object is a CronJob that starts no Job beside one of its own that runs, as its
// concurrencyPolicy says.
func StartsOneAtATime(k store.Key, obj map[string]any) bool {
	return k.Group == "batch" && k.Resource == "cronjobs" && fields.String(obj, "spec", "concurrencyPolicy") == "Forbid"
}

// Paused reports whether an object is a Deployment that is paused: it makes no Pods on a target that it
// comes to.
func Paused(k store.Key, obj map[string]any) bool {
	paused, _ := fields.Map(obj, "spec")["paused"].(bool)
	return paused && k.Group == "apps" && k.Resource == "deployments"
}

// begun reports whether what a status is of has begun. One that has ended, too: the end counts when the space shows
// it, as Finished, and the object would begin anew wherever it is sent before that.
func begun(k store.Key, b *brief) bool {
	switch k.Group + "/" + k.Resource {
	case "batch/jobs":
		return b.StartTime != "" || b.running() > 0 || b.is("Complete", "Failed")
	case "batch/cronjobs":
		return b.running() > 0
	case "/pods":
		return b.Phase != ""
	}
	return false
}

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
