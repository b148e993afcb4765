package placement

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// Lease is what may be counted on when a target is not heard.
type Lease struct {
	// Wanted: spec.lease of the SyncTarget says that its agent is to stop what must not run twice.
	Wanted bool
	// Refused: the site does not let it.
	Refused bool
	// Held: the agent has confirmed that it does. Ends is when nothing of it runs there any more,
	// unless the agent is heard until then.
	Held bool
	Ends time.Time
	// Beyond names what the agent cannot stop, empty where it can stop all.
	Beyond string
}

// Absence is what is known of what must not run twice on a target that does not say it itself.
type Absence struct {
	// Certain: it does not run there any more, and may be started elsewhere.
	Certain bool
	// Until is when it will be certain, zero if nothing makes it so.
	Until time.Time
	// Message says for people what is waited for, or what to do.
	Message string
	// Why says why nothing will make it certain, empty where something does.
	Why string
}

// Absent decides whether what must not run twice may be started elsewhere although a target has not
// confirmed that it is gone there. It may once the admin has said that the site is down, or once
// the target's lease has ended by the center's clock; a target that has a session speaks for
// itself.
func Absent(t Target, l Lease, now time.Time) Absence {
	switch {
	case t.OutOfService():
		return Absence{Certain: true}
	case t.Connected:
		return Absence{Message: fmt.Sprintf("%s is connected and has to say it itself", t.Name)}
	case l.Held && l.Beyond == "" && !now.Before(l.Ends):
		return Absence{Certain: true}
	case l.Held && l.Beyond == "":
		return Absence{Until: l.Ends, Message: fmt.Sprintf("waits for the lease of %s until %s",
			t.Name, l.Ends.UTC().Format(time.TimeOnly))}
	}
	why := "it has no lease"
	switch {
	case l.Beyond != "":
		why = "no lease stops what runs for " + l.Beyond
	case l.Refused:
		why = "its site refuses to stop anything (--allow-scale-to-zero=false)"
	case l.Wanted:
		why = "its agent had not confirmed its lease before it went away"
	}
	return Absence{Why: why, Message: fmt.Sprintf("stays on %s, which is away, because it must not run twice and "+
		"%s. If the site is really down: skerry target out-of-service %s. For the next time set spec.lease of the "+
		"SyncTarget with onExpiry ScaleToZero", t.Name, why, t.Name)}
}

// OutOfService reports whether an admin has said that nothing runs at the site any more.
func (d Departure) OutOfService() bool {
	for _, t := range d.Taints {
		if t.Key == v1alpha1.TaintOutOfService && t.Effect == corev1.TaintEffectNoExecute {
			return true
		}
	}
	return false
}
