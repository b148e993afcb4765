package placement

import (
	"encoding/json"
	"fmt"
	"regexp"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/clip"
)

// What is taken of the words of a target. No agent says as much: a relay has the words of three sites, of
// 1 KiB each. What is longer would not fit the object that shows it, and keep what others report of that
// from being shown.
const (
	mostReason  = 64
	mostMessage = 8 << 10
	mostName    = 253
)

// reasonForm is what a condition may have for a reason.
var reasonForm = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// ReportOf reads a report of a target as it is stored. It is false for one that is taken back.
func ReportOf(target string, e store.Entry) (r store.Report, ok bool, err error) {
	if e.Tombstone || len(e.Body) == 0 {
		return r, false, nil
	}
	if err := json.Unmarshal(e.Body, &r); err != nil {
		return r, false, fmt.Errorf("decode report of %s from %s: %w", e.Key, target, err)
	}
	bound(&r)
	return r, true, nil
}

// bound cuts the words of a report.
func bound(r *store.Report) {
	if e := r.Error; e != nil {
		if len(e.Reason) > mostReason || !reasonForm.MatchString(e.Reason) {
			e.Reason = "Refused"
		}
		e.Message = clip.Text(e.Message, mostMessage)
	}
	r.Altered = clip.Text(r.Altered, mostMessage)
	if e := r.Event; e != nil {
		e.Type, e.Reason = clip.Text(e.Type, mostReason), clip.Text(e.Reason, 2*mostReason)
		e.Component = clip.Text(e.Component, mostName)
		e.Message = clip.Text(e.Message, mostMessage)
	}
}
