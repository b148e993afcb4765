package placement

import (
	"encoding/json"
	"testing"
	"time"

	"skerry.dev/skerry/store"
)

func TestFailure(t *testing.T) {
	for _, tc := range []struct{ group, resource, status, reason string }{
		{"apps", "deployments", `{"conditions":[{"type":"Progressing","status":"False","reason":"ProgressDeadlineExceeded"}]}`,
			"ProgressDeadlineExceeded"},
		{"apps", "deployments", `{"conditions":[{"type":"ReplicaFailure","status":"True","reason":"FailedCreate"}]}`,
			"FailedCreate"},
		{"apps", "deployments", `{"conditions":[{"type":"Available","status":"False"}]}`, ""},
		{"apps", "deployments", `{"phase":"Failed"}`, ""},
		{"", "pods", `{"phase":"Failed","reason":"Evicted","message":"m"}`, "Evicted"},
		{"", "pods", `{"phase":"Failed"}`, "Failed"},
		{"", "pods", `{"phase":"Pending"}`, ""},
		{"batch", "jobs", `{"conditions":[{"type":"Failed","status":"True"}]}`, "Failed"},
		{"batch", "jobs", `{"conditions":[{"type":"Failed","status":"False"}]}`, ""},
		{"batch", "jobs", `{"failed":3}`, ""},
		{"example.org", "widgets", `{"conditions":[{"type":"Stalled","status":"True","reason":"No"}]}`, "No"},
		{"example.org", "widgets", `{"conditions":[{"type":"Ready","status":"False","reason":"No"}]}`, ""},
		{"example.org", "widgets", `{"conditions":"none"}`, ""},
		{"example.org", "widgets", ``, ""},
	} {
		r := store.Report{Status: json.RawMessage(tc.status)}
		reason, _, failed := Failure(store.Key{Group: tc.group, Resource: tc.resource}, r)
		if reason != tc.reason || failed != (tc.reason != "") {
			t.Errorf("%s %s: %q %v, want %q", tc.resource, tc.status, reason, failed, tc.reason)
		}
	}
}

func TestWhoIsAwaySaysWhatBecomesOfIt(t *testing.T) {
	since := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for want, d := range map[string]Departure{
		"": {EvictAfter: time.Minute},
		"it is away since 2026-01-01T12:00:00Z and keeps what is there: its SyncTarget has no spec.evictAfter": {
			AwaySince: since},
		"it is away since 2026-01-01T12:00:00Z; spec.evictAfter of its SyncTarget counts from then and ends at " +
			"2026-01-01T12:01:00Z": {AwaySince: since, EvictAfter: time.Minute},
	} {
		if got := d.AwayText(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
