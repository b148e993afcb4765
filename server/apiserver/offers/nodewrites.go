package offers

import (
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"skerry.dev/skerry/server/apiserver/response"
)

// RefuseNodeWrites answers those who write Nodes, as kubectl cordon and kubectl drain do, with what to do
// instead. Nodes stay read-only in discovery, so controllers do not try.
func RefuseNodeWrites(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, ok := apirequest.RequestInfoFrom(r.Context())
		if !ok || !info.IsResourceRequest || info.APIGroup != "" || info.Resource != "nodes" || info.Subresource != "" {
			h.ServeHTTP(w, r)
			return
		}
		switch info.Verb {
		case "create", "update", "patch", "delete", "deletecollection":
			response.Write(w, response.Status(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
				nodeWriteText(info.Name)))
		default:
			h.ServeHTTP(w, r)
		}
	})
}

func nodeWriteText(name string) string {
	if name == "" {
		return "nodes are only read here: each shows a site. A site joins with: skerry token create; skerry agent"
	}
	return fmt.Sprintf("node %s is only read here: it shows a site. Its admin empties it with: skerry target drain %s "+
		"(or stops new placements with: skerry target cordon %s). To move what is yours, set the label "+
		"skerry.dev/target; to end single Pods: kubectl delete pod, or evict them", name, name, name)
}
