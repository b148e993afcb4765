package delivery

import (
	"fmt"

	"skerry.dev/skerry/server/placement"
)

// first names the first object that a target refuses, with its words and how many others it
// refuses; else the first that has not arrived there. It is empty when all have.
func (d *Delivery) first(target, instead string, asked []question) (why string, refused bool) {
	waits, n := "", 0
	for _, q := range asked {
		lacks, no := d.arrived(target, instead, q)
		if no {
			if n++; n == 1 {
				why = q.text() + " " + lacks
			}
		} else if waits == "" && lacks != "" {
			waits = q.text() + " " + lacks
		}
	}
	switch {
	case n == 0:
		return waits, false
	case n > 1:
		why += fmt.Sprintf(" (and %d more are refused)", n-1)
	}
	return why, true
}

// arrived tells why an object has not arrived on a target, and whether that is a refusal.
func (d *Delivery) arrived(target, instead string, q question) (why string, refused bool) {
	if q.unsent != "" {
		return q.unsent, true
	}
	if q.scaling {
		return "its replicas are about to change", false
	}
	demand, has := q.on(target)
	if !has {
		return "", false // its release does without it
	}
	p, ok := d.cfg.Progress(target, q.key)
	if !ok {
		return "not reported yet", false
	}
	demand = d.eased(demand, q, instead)
	if why := p.Arrived(demand); why != "" {
		if q.paused && p.Refused == nil && p.Applied == demand.Hash && p.UID == demand.UID {
			return fmt.Sprintf("is paused (spec.paused), and makes no Pods there: kubectl rollout resume deployment/%s -n %s",
				q.key.Name, q.key.Namespace), true
		}
		return why, p.UID == demand.UID && p.Refused != nil
	}
	if revision := d.Doubts.Of(target, q.key); revision > 0 {
		d.cfg.Confirm(target, revision)
		return "reported from before it was to come back, not confirmed yet", false
	}
	return "", false
}

// eased is what is asked of a target that stands beside the one that it is to replace.
func (d *Delivery) eased(demand placement.Demand, q question, instead string) placement.Demand {
	if instead == "" {
		return demand
	}
	if had, ok := d.cfg.Progress(instead, q.key); ok {
		return demand.From(had)
	}
	return demand
}
