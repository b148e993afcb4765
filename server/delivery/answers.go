package delivery

import (
	"time"

	"skerry.dev/skerry/server/binding"
)

// answers are the reports of the targets of a look.
type answers struct {
	d *Delivery
	l *look
}

// Counts implements binding.Reports. What is on a target counts object by object, see doubts. That
// nothing is left there is proved once the target has confirmed that it knows.
func (a *answers) Counts(t binding.TargetID) bool {
	revision, off := a.l.confirms[t]
	if !off || a.d.Doubts.Confirmed(a.l.names[t]) >= revision {
		return true
	}
	a.d.cfg.Confirm(a.l.names[t], revision)
	return false
}

// Word implements binding.Reports.
func (a *answers) Word(t binding.TargetID, object int) binding.Word {
	q, name := a.l.asked[object], a.l.names[t]
	_, off := a.l.confirms[t]
	if !off && a.l.lacks(t, q) {
		return binding.Available // it is not to be there
	}
	if off && !a.l.awaited(t, q) || a.l.neededAt(t, q) {
		return binding.NoWord
	}
	demand, has := q.on(name)
	if !has && !off {
		return binding.Available // nor is this
	}
	p, ok := a.d.cfg.Progress(name, q.key)
	switch reported := ok && (p.UID == demand.UID || off && p.UID == q.demand.UID); {
	case q.unsent != "" && !off:
		return binding.Unavailable
	case !reported, q.named.Has(name), off && a.l.moves.staysFor(name, q):
		return binding.NoWord
	}
	why := p.Arrived(demand)
	if eased := a.d.eased(demand, q, a.l.instead(t)); why != "" && eased != demand {
		if why, demand = p.Arrived(eased), eased; why == "" {
			a.l.ease(t, easing{min(easedFor, time.Duration(a.l.facts.Timeout)*time.Second/2),
				"less than is wished counts after"})
		}
	}
	switch {
	case why == "":
		if revision := a.d.Doubts.Of(name, q.key); revision > 0 {
			a.d.cfg.Confirm(name, revision)
			return binding.NoWord
		}
		return binding.Available
	case p.Refused == nil && p.Ready && (p.Available >= demand.Replicas || p.Varied):
		return binding.Outdated // what is there may be available
	}
	return binding.Unavailable
}
