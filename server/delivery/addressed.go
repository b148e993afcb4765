package delivery

import (
	"time"

	"skerry.dev/skerry/server/binding"
)

// addressShare is the part of the time for a move for which a target that is ready otherwise is awaited to
// have the addresses that the one before it had: who asks by them would find nothing. A cloud takes minutes
// to make a load balancer; a site without one never has an address.
const addressShare = 3

// easing is for how long a target is ready before that counts, and why.
type easing struct {
	wait time.Duration
	why  string
}

// ease has a target wait for a reason, unless it waits longer for another one.
func (l *look) ease(t binding.TargetID, e easing) {
	if e.wait > l.eased[t].wait {
		l.eased[t] = e
	}
}

// addresses finds out which targets lack an address that the one which they are to replace has.
func (d *Delivery) addresses(l *look) {
	for _, t := range l.facts.Targets {
		instead := l.instead(t.ID)
		if instead == "" {
			continue
		}
		for _, q := range l.asked {
			for _, k := range q.entries {
				had, _ := d.cfg.Progress(instead, k)
				if is, _ := d.cfg.Progress(l.names[t.ID], k); had.Addressed && !is.Addressed {
					l.ease(t.ID, easing{time.Duration(l.facts.Timeout) * time.Second / addressShare,
						k.Resource + "/" + k.Name + " has no address there yet, which counts after"})
				}
			}
		}
	}
}
