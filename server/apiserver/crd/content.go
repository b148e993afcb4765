package crd

import (
	"fmt"
	"mime"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"skerry.dev/skerry/server/apiserver/response"
)

// refuseProtobuf refuses custom resources in protobuf, which cannot represent them. Upstream has no
// decoder for them either, and panics if the request asks for strict field validation. Subresources
// and the options of requests may be in protobuf.
func refuseProtobuf(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, ok := apirequest.RequestInfoFrom(r.Context())
		writes := r.Method == http.MethodPost || r.Method == http.MethodPut
		if ok && writes && info.IsResourceRequest && info.Subresource != "scale" {
			if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil &&
				media == runtime.ContentTypeProtobuf {
				response.Write(
					w,
					response.Status(
						http.StatusUnsupportedMediaType,
						metav1.StatusReasonUnsupportedMediaType,
						fmt.Sprintf(
							"custom resources have no form in %s: send application/json or application/yaml",
							media,
						),
					),
				)
				return
			}
		}
		h.ServeHTTP(w, r)
	})
}
