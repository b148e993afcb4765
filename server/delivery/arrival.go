package delivery

import (
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

// missing returns an empty text when everything has arrived, else the first that has not, and why.
func (d *Delivery) missing(asked []question) string {
	for _, q := range asked {
		for _, t := range q.targets {
			if why := d.arrived(t, q); why != "" {
				return q.key.Resource + "/" + q.key.Name + " on " + t + ": " + why
			}
		}
	}
	return ""
}

func (d *Delivery) arrived(target string, q question) string {
	if q.unsent != "" {
		return q.unsent
	}
	p, ok := d.cfg.Progress(target, q.key)
	if !ok {
		return "not reported yet"
	}
	if why := p.Arrived(q.demand); why != "" {
		return why
	}
	if revision := d.doubts.of(target, q.key); revision > 0 {
		d.cfg.Confirm(target, revision)
		return "reported from before it was to come back, not confirmed yet"
	}
	return ""
}

// remaining names the first object that a target still reports, and unseen the first that one has not reported on.
func (d *Delivery) remaining(asked []question) string { return d.first(asked, true, "is still on") }

func (d *Delivery) unseen(asked []question) string {
	return d.first(asked, false, "is not reported yet by")
}

func (d *Delivery) first(asked []question, reported bool, text string) string {
	for _, q := range asked {
		for _, t := range q.targets {
			if d.reports(t, q) == reported {
				return q.key.Resource + "/" + q.key.Name + " " + text + " " + t
			}
		}
	}
	return ""
}

// shows tells whether a target reports an object, whatever is demanded of it.
func (d *Delivery) shows(target string, o *object) bool {
	return d.reports(target, question{key: o.key(), demand: placement.Demand{UID: o.uid}})
}

// reports tells whether a target says that it has this very object, or that it cannot have it.
func (d *Delivery) reports(target string, q question) bool {
	p, ok := d.cfg.Progress(target, q.key)
	return ok && p.UID == q.demand.UID
}
