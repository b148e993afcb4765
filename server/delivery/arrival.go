package delivery

import (
	"fmt"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// question asks whether an object has arrived on some targets.
type question struct {
	key     store.Key
	demand  placement.Demand
	targets []string
	unsent  string // why the center does not send it
}

// missing returns an empty text when everything has arrived, else what holds it up, and why.
func (d *Delivery) missing(asked []question) string {
	waits := ""
	byTarget := map[string][]question{}
	var order []string
	for _, q := range asked {
		for _, t := range q.targets {
			if byTarget[t] == nil {
				order = append(order, t)
			}
			byTarget[t] = append(byTarget[t], q)
		}
	}
	for _, t := range order {
		why, refused := d.first(t, byTarget[t])
		if refused {
			return t + ": " + why
		}
		if waits == "" && why != "" {
			waits = t + ": " + why
		}
	}
	return waits
}

// first names the first object that a target refuses, with its words and how many others it
// refuses; else the first that has not arrived there. It is empty when all have.
func (d *Delivery) first(target string, asked []question) (why string, refused bool) {
	waits, n := "", 0
	for _, q := range asked {
		lacks, no := d.arrived(target, q)
		text := q.key.Resource + "/" + q.key.Name + " " + lacks
		if no {
			if n++; n == 1 {
				why = text
			}
		} else if waits == "" && lacks != "" {
			waits = text
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
func (d *Delivery) arrived(target string, q question) (why string, refused bool) {
	if q.unsent != "" {
		return q.unsent, true
	}
	p, ok := d.cfg.Progress(target, q.key)
	if !ok {
		return "not reported yet", false
	}
	if why := p.Arrived(q.demand); why != "" {
		return why, p.UID == q.demand.UID && p.Refused != nil
	}
	if revision := d.doubts.of(target, q.key); revision > 0 {
		d.cfg.Confirm(target, revision)
		return "reported from before it was to come back, not confirmed yet", false
	}
	return "", false
}

// remaining names the first object that a target still reports, and unseen the first that one has
// not reported on.
func (d *Delivery) remaining(asked []question) string { return d.oneOf(asked, true, "is still on") }

func (d *Delivery) unseen(asked []question) string {
	return d.oneOf(asked, false, "is not reported yet by")
}

func (d *Delivery) oneOf(asked []question, reported bool, text string) string {
	for _, q := range asked {
		for _, t := range q.targets {
			if d.reports(t, q) == reported {
				return q.key.Resource + "/" + q.key.Name + " " + text + " " + t
			}
		}
	}
	return ""
}

// shows reports whether a target reports an object, whatever is demanded of it.
func (d *Delivery) shows(target string, o *object) bool {
	return d.reports(target, question{key: o.key(), demand: placement.Demand{UID: o.uid}})
}

// reports reports whether a target says that it has this very object, or that it cannot have it.
func (d *Delivery) reports(target string, q question) bool {
	p, ok := d.cfg.Progress(target, q.key)
	return ok && p.UID == q.demand.UID
}
