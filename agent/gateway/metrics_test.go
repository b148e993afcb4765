package gateway

import (
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"skerry.dev/skerry/tunnel/upward"
)

// Requests are counted by their end, refusals by their reason, and a watch while it is open.
func TestMetrics(t *testing.T) {
	api, p := newAPI(t), newParent(t)
	s := newSite(t, t.TempDir(), api, p, "127.0.0.1:0")
	must(t, s.provided(t, "op"))
	secret := s.secret(t, "op")
	eventually(t, "it has looked", func() bool { return !s.starting() })
	if code, body := s.ask(t, secret, secret["token"]); code != http.StatusOK ||
		testutil.ToFloat64(s.Metrics.bytes.WithLabelValues("down")) != float64(len(body)) {
		t.Errorf("%d, %q", code, body)
	}
	s.ask(t, secret, "nobody's")
	p.set(func(p *parent) { p.denies = true })
	s.ask(t, secret, secret["token"])
	if n := testutil.ToFloat64(s.Metrics.refused.WithLabelValues(refusedToken)); n != 1 {
		t.Errorf("%v refused", n)
	}
	if n := testutil.ToFloat64(s.Metrics.watches); n != 0 {
		t.Errorf("%v watches", n)
	}
	must(t, testutil.CollectAndCompare(s.Metrics, strings.NewReader(`
# HELP skerry_gateway_requests_total Requests of pods that were passed on to the API of their space, by the code of the answer.
# TYPE skerry_gateway_requests_total counter
skerry_gateway_requests_total{code="200"} 1
skerry_gateway_requests_total{code="401"} 1
`), "skerry_gateway_requests_total"))
	for query, want := range map[string]bool{"watch=true": true, "watch=1": true, "watch": true,
		"watch=false": false, "watch=0": false, "": false} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://x/api/v1/pods?"+query, nil)
		must(t, err)
		if upward.IsWatch(r) != want {
			t.Errorf("%q: %v", query, !want)
		}
	}
}
