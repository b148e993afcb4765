package summary

import (
	"regexp"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/clip"
)

// What is taken of the words of a target. No agent says as much: a relay has the words of three sites, of
// 1 KiB each. What is longer would not fit the object that shows it, and keep what others report of that
// from being shown.
const (
	maxReason  = 64
	maxMessage = 8 << 10
	maxName    = 253
)

// reasonForm is what a condition may have for a reason.
var reasonForm = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// bound cuts the words of a report.
func bound(r *store.Report) {
	if e := r.Error; e != nil {
		if len(e.Reason) > maxReason || !reasonForm.MatchString(e.Reason) {
			e.Reason = "Refused"
		}
		e.Message = clip.Text(e.Message, maxMessage)
	}
	r.Altered = clip.Text(r.Altered, maxMessage)
	if e := r.Event; e != nil {
		e.Type, e.Reason = clip.Text(e.Type, maxReason), clip.Text(e.Reason, 2*maxReason)
		e.Component = clip.Text(e.Component, maxName)
		e.Message = clip.Text(e.Message, maxMessage)
	}
}
