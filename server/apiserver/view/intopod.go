package view

import (
	"net/http"
	"net/url"
	"slices"

	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"skerry.dev/skerry/server/apiserver/request"
)

// intoPods are the subresources of Pods that a view has: they read, or talk to what runs.
var intoPods = []string{"attach", "exec", "log", "portforward"}

// IntoPod turns a request for one of those into that for the Pod of the space, so that the same
// storage answers it, with the same checks and the same admission. The context says at which site
// the Pod is ([request.WayOf]). It is false for all other requests.
func IntoPod(r *http.Request) (*http.Request, bool) {
	info, ok := apirequest.RequestInfoFrom(r.Context())
	names, _ := split(r.URL.Path)
	if !ok || len(names) == 0 || request.FromCenter(r.Context()) || !info.IsResourceRequest ||
		info.APIGroup != "" || info.APIVersion != "v1" || info.Resource != "pods" || info.Namespace == "" ||
		len(info.Parts) != 3 || !slices.Contains(intoPods, info.Subresource) {
		return nil, false
	}
	into := r.WithContext(request.WithWay(r.Context(), &request.Way{Targets: names}))
	into.URL = &url.URL{
		Path:     "/api/v1/namespaces/" + info.Namespace + "/pods/" + info.Name + "/" + info.Subresource,
		RawQuery: r.URL.RawQuery,
	}
	return into, true
}
