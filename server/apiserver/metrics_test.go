package apiserver

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apimetrics "k8s.io/apiserver/pkg/endpoints/metrics"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// What stands in the URL of a request that comes to nothing is in no metric.
func TestNoNamesInMetrics(t *testing.T) {
	g := Gatherer()
	r := httptest.NewRequest(http.MethodGet, "/api/v1/made-up/name", nil)
	apimetrics.RecordRequestAbort(
		r,
		&apirequest.RequestInfo{
			IsResourceRequest: true,
			Verb:              "get",
			APIVersion:        "v1",
			Resource:          "made-up",
			Subresource:       "made-up",
		},
	)
	apimetrics.RecordRequestTermination(
		r,
		&apirequest.RequestInfo{Verb: "get", Path: "/made-up"},
		apimetrics.APIServerComponent,
		http.StatusGatewayTimeout,
	)
	all, err := g.Gather()
	if err != nil || len(all) == 0 {
		t.Fatal(len(all), err)
	}
	for _, f := range all {
		if strings.Contains(f.String(), "made-up") {
			t.Errorf("%s shows it", f.GetName())
		}
	}
}
