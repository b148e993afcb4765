package exchange

import (
	"errors"
	"testing"
)

// TestPlaceOf: where a Pod of a space runs, by the marks that the center alone writes.
func TestPlaceOf(t *testing.T) {
	for name, c := range map[string]struct {
		notes map[string]string
		want  Place
		code  int
	}{
		"mirrored": {map[string]string{ReportedFrom: "oslo", ReportedUID: "u"},
			Place{Target: "oslo", Pod: "web", UID: "u"}, 0},
		"under another name": {map[string]string{ReportedFrom: "oslo", ReportedUID: "u",
			ReportedAs: "w"}, Place{Target: "oslo", Pod: "w", UID: "u"}, 0},
		"placed itself": {map[string]string{Targets: "oslo"}, Place{Target: "oslo", Pod: "web", Origin: "here"}, 0},
		"placed on two": {map[string]string{Targets: "oslo,bergen"},
			Place{Target: "oslo", Pod: "web", Origin: "here"}, 0},
		"mirrored before placed": {map[string]string{ReportedFrom: "oslo", ReportedUID: "u",
			Targets: "bergen"}, Place{Target: "oslo", Pod: "web", UID: "u"}, 0},
		"nowhere":        {nil, Place{}, 409},
		"not said which": {map[string]string{ReportedFrom: "oslo"}, Place{}, 503},
	} {
		got, err := PlaceOf("web", "here", c.notes)
		var f *Fault
		if got != c.want || (err != nil) != (c.code != 0) ||
			errors.As(err, &f) && f.Code != c.code {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
