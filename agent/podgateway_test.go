package agent

import (
	"bytes"
	"strings"
	"testing"

	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/store"
)

// A workload whose pods need the API of their space is refused in words where the site has no way
// to it: a new one is not made, and one that is there stays as it was.
func TestWithoutAGatewayAWorkloadIsRefused(t *testing.T) {
	inBubble(t, withoutAGatewayAWorkloadIsRefused)
}

func withoutAGatewayAWorkloadIsRefused(t *testing.T) {
	s := newSite(t)
	using := func(name string) store.Entry {
		e := deployment(1, "app", name, 1)
		e.Body = bytes.Replace(e.Body, []byte(`"annotations":{`), []byte(`"annotations":{"`+store.PodAPI+`":"op",`), 1)
		e.Hash = store.HashBody(e.Generation, e.Body)
		return e
	}
	plain, given, other := deployment(1, "app", "web", 1), using("web"), using("op")
	s.desire(namespace("app"), plain)
	eventually(t, "the first one is applied", func() bool { return s.exists(plain) })
	before := s.writesTo("web")
	s.desire(given, other)
	for _, e := range []store.Entry{given, other} {
		eventually(t, "a refusal of "+e.Key.Name, func() bool {
			r := s.report(e.Key)
			return r != nil && r.Error != nil && r.Error.Reason == policy.ReasonGateway &&
				strings.Contains(r.Error.Message, "--gateway-address")
		})
	}
	if s.exists(other) || s.writesTo("web") != before {
		t.Error("what is refused was written")
	}
	s.desire(plain)
	eventually(t, "the end of the refusal", func() bool {
		r := s.report(plain.Key)
		return r != nil && r.Error == nil
	})
}
