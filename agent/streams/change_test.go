package streams

import (
	"net/http"
	"strings"
	"testing"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel/exchange"
)

// TestWhatMayChange: labels as long as the Pod's ReplicaSet selects it, and conditions that its
// readiness gates name.
func TestWhatMayChange(t *testing.T) {
	s := newSite(t)
	s.answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }
	h := s.handler(t, nil)
	for name, c := range map[string]struct {
		body, words string
	}{
		"a label":                        {`{"labels":{"role":"primary"}}`, ""},
		"a label nobody selects by":      {`{"labels":{"app":"other"}}`, ""},
		"a label that goes":              {`{"labels":{"app":null}}`, ""},
		"what its owner selects by":      {`{"labels":{"hash":"2"}}`, "ReplicaSet app at the site selects hash=1"},
		"that taken off":                 {`{"labels":{"hash":null}}`, "would let go of it"},
		"an annotation":                  {`{"annotations":{"hash":"2"}}`, ""},
		"its readiness gate":             {`{"conditions":[{"type":"gate","status":"True"}]}`, ""},
		"a condition of the kubelet":     {`{"conditions":[{"type":"Ready","status":"True"}]}`, "readinessGates"},
		"a gate and another's condition": {`{"conditions":[{"type":"gate"},{"type":"Ready"}]}`, "readinessGates"},
	} {
		before := s.asked.Load()
		r := logOf("shop", "web", "app-1", "u-1")
		r.Verb, r.Query, r.Body = exchange.Change, nil, []byte(c.body)
		resp, body, err := ask(t, h, r)
		want := http.StatusOK
		if c.words != "" {
			want = http.StatusUnprocessableEntity
		}
		if err != nil || resp.StatusCode != want || !strings.Contains(body, c.words) {
			t.Errorf("%s: %v, %v: %s", name, resp, err, body)
		}
		if got := s.asked.Load() - before; (got == 1) != (c.words == "") {
			t.Errorf("%s: the cluster was asked %d times", name, got)
		}
	}
}

// TestClaimGrows: a claim that was born here requests more, in one patch with its labels.
func TestClaimGrows(t *testing.T) {
	c, err := changing(target.Talk{}, &exchange.Request{Resource: exchange.Claims, UID: "u-1",
		Body: []byte(`{"labels":{"a":"b"},"storage":"2Gi"}`)})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"metadata":{"labels":{"a":"b"},"uid":"u-1"},"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`
	if string(c.Body) != want || c.Method != http.MethodPatch || c.Subresource != "" {
		t.Errorf("%s %q %s", c.Method, c.Subresource, c.Body)
	}
}

// TestNobodyElsesIsWritten: the objects of nobody, of other spaces and of the cluster, by every name
// and UID.
func TestNobodyElsesIsWritten(t *testing.T) {
	s := newSite(t)
	h := s.handler(t, nil)
	for name, r := range map[string]*exchange.Request{
		"one that nobody placed":       logOf("shop", "web", "stranger", "u-stranger"),
		"the cluster's own":            logOf("shop", "kube-system", "dns", "u-dns"),
		"another space's":              logOf("shop", "other", "app-1", "u-team"),
		"with another's UID":           logOf("shop", "web", "app-1", "u-team"),
		"as another space":             logOf("team", "web", "app-1", "u-1"),
		"one that was replaced":        logOf("shop", "web", "app-2", "u-old"),
		"a name that leaves its place": logOf("shop", "web", "../../kube-system/pods/dns", "u-1"),
		"a name with an escape":        logOf("shop", "web", "app-1%2f..%2fdns", "u-1"),
		"a namespace that leaves":      logOf("shop", "web/pods/app-1/../..", "app-1", "u-1"),
	} {
		for _, v := range []exchange.Verb{exchange.Change, exchange.Delete, exchange.Evict} {
			for _, resource := range []string{"", exchange.Claims, exchange.Jobs, exchange.ReplicaSets} {
				at := *r
				at.Verb, at.Query, at.Resource = v, nil, resource
				if v == exchange.Change {
					at.Body = []byte(`{"labels":{"a":"b"}}`)
				}
				resp, body, err := ask(t, h, &at)
				if err == nil && resp.StatusCode < 400 || s.asked.Load() != 0 {
					t.Fatalf("%s, %s of %q: %v, %s", name, v, resource, resp, body)
				}
			}
		}
	}
	// A Pod of the space is no claim, Job or ReplicaSet of it.
	at := logOf("shop", "web", "app-1", "u-1")
	at.Verb, at.Query, at.Resource = exchange.Delete, nil, exchange.Claims
	if resp, body, err := ask(t, h, at); err != nil || resp.StatusCode != 404 || s.asked.Load() != 0 {
		t.Errorf("a Pod as a claim: %v, %v: %s", resp, err, body)
	}
}
