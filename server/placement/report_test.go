package placement

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"skerry.dev/skerry/store"
)

// TestAReportSaysNoMoreThanObjectsCanShow: whoever reads a report gets words that fit.
func TestAReportSaysNoMoreThanObjectsCanShow(t *testing.T) {
	long := "\x1b[2J" + strings.Repeat("é", 1<<19)
	read := func(r store.Report) (store.Report, bool) {
		body, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		r, ok, err := ReportOf("a", store.Entry{Body: body})
		if err != nil {
			t.Fatal(err)
		}
		return r, ok
	}
	r, ok := read(store.Report{Error: &store.ReportError{Reason: long, Message: long}, Altered: long,
		Event: &store.ReportEvent{Type: long, Reason: long, Component: long, Message: long}})
	if !ok || r.Error.Reason != "Refused" {
		t.Errorf("%t, reason %.80q", ok, r.Error.Reason)
	}
	for _, text := range []string{r.Error.Message, r.Altered, r.Event.Type, r.Event.Reason, r.Event.Component,
		r.Event.Message} {
		if len(text) > mostMessage || !utf8.ValidString(text) {
			t.Errorf("%d bytes: %.80q", len(text), text)
		}
	}
	r, _ = read(store.Report{Error: &store.ReportError{Reason: "QuotaExceeded", Message: "too many"}})
	if r.Error.Reason != "QuotaExceeded" || r.Error.Message != "too many" {
		t.Errorf("%+v", r.Error)
	}
	for _, e := range []store.Entry{{}, {Tombstone: true, Body: []byte(`{}`)}} {
		if _, ok, err := ReportOf("a", e); ok || err != nil {
			t.Errorf("%+v is a report: %v", e, err)
		}
	}
	if _, ok, err := ReportOf("a", store.Entry{Body: []byte(`{`)}); ok || err == nil {
		t.Error("half of one is a report")
	}
}
