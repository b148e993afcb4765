package exchange

import (
	"net/http"
	"strings"
)

// The annotations of a Pod in a space that say where it runs. The center alone writes them.
const (
	// ReportedFrom is the target that reported the Pod, ReportedAs its name there when that is
	// another one than in the space, ReportedUID its UID there.
	ReportedFrom = "skerry.dev/reported-from"
	ReportedAs   = "skerry.dev/reported-as"
	ReportedUID  = "skerry.dev/reported-uid"
	// Targets are those of a Pod that was itself placed, with commas between them.
	Targets = "skerry.dev/targets"
)

// Place is where a Pod of a space runs: at which target of the center that has the space, under
// which name there, and how it is known there.
type Place struct{ Target, Pod, UID, Origin string }

// PlaceOf reads the place of a Pod from its name, its UID and its annotations in a space. A Pod
// that was placed on several targets is looked for on the first. The error is a *Fault.
func PlaceOf(name, uid string, notes map[string]string) (Place, error) {
	from, mirrored := notes[ReportedFrom]
	if !mirrored {
		target, _, _ := strings.Cut(notes[Targets], ",")
		if target == "" {
			return Place{}, &Fault{Code: http.StatusConflict, Reason: "Conflict",
				Message: "pod " + name + " is at no target yet: see the condition skerry.dev/Scheduled of its status"}
		}
		return Place{Target: target, Pod: name, Origin: uid}, nil
	}
	p := Place{Target: from, Pod: name, UID: notes[ReportedUID]}
	if as := notes[ReportedAs]; as != "" {
		p.Pod = as
	}
	if p.UID == "" {
		return Place{}, &Fault{Code: http.StatusServiceUnavailable, Reason: "ServiceUnavailable",
			Message: "target " + from + " has not said yet which pod " + name + " is there; try again"}
	}
	return p, nil
}

// At returns the request as it is sent to the target of a place.
func (r *Request) At(p Place) *Request {
	next := *r
	next.Pod, next.UID, next.Origin = p.Pod, p.UID, p.Origin
	return &next
}
