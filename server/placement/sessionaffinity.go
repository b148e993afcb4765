package placement

import (
	"time"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// usualAffinity is for how long callers come back where a Service does not say it, in seconds, as Kubernetes has it.
const usualAffinity = 10800

// SessionAffinityOf is for how long after a call the caller of a Service is to come back to the Pod that answered it.
// It is 0 for a Service whose sessionAffinity is not ClientIP, and for all else.
func SessionAffinityOf(k store.Key, obj map[string]any) time.Duration {
	if !k.IsService() || fields.String(obj, "spec", "sessionAffinity") != "ClientIP" {
		return 0
	}
	seconds, said := fields.Number(fields.Map(obj, "spec", "sessionAffinityConfig", "clientIP")["timeoutSeconds"])
	if !said || seconds <= 0 {
		seconds = usualAffinity
	}
	return time.Duration(seconds) * time.Second
}
