package apiserver

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/response"
)

// talks are the subresources of Pods, and of Services, that reach into its containers, which run on a site.
var talks = []string{"log", "exec", "attach", "portforward", "proxy", "ephemeralcontainers"}

// talk tells which of them a path is for.
func talk(path string) (subresource string, ok bool) {
	below, ok := strings.CutPrefix(path, "/api/v1/namespaces/")
	if !ok {
		return "", false
	}
	parts := strings.SplitN(below, "/", 5)
	if len(parts) < 4 || !slices.Contains(talks, parts[3]) {
		return "", false
	}
	return parts[3], parts[1] == "pods" || parts[1] == "services" && parts[3] == "proxy"
}

// errOnSite says where a Pod can be talked to.
func errOnSite(subresource string) *metav1.Status {
	return response.Status(
		http.StatusNotImplemented,
		"NotImplemented",
		fmt.Sprintf(
			"%s is not served by this center: ask the cluster that the pod runs on; "+
				"its SyncTarget is in the pod's annotation %s",
			subresource,
			v1alpha1.AnnotationReportedFrom,
		),
	)
}
