package request

import (
	"mime"
	"net/http"
	"strings"
)

// WantsAggregated says whether the answer to a request for /api or /apis is aggregated discovery of
// version v2 in JSON: the Accept headers name it before plain JSON. Clients of Kubernetes 1.26 to 1.29
// name version v2beta1 only, and would read v2 as a list without groups.
func WantsAggregated(header http.Header) bool {
	for accept := range strings.SplitSeq(strings.Join(header["Accept"], ","), ",") {
		kind, is, err := mime.ParseMediaType(accept)
		if err != nil || kind != "application/json" {
			continue
		}
		switch {
		case is["as"] == "":
			return false
		case is["as"] == "APIGroupDiscoveryList" && is["g"] == "apidiscovery.k8s.io" && is["v"] == "v2":
			return true
		}
	}
	return false
}
