package top

import (
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/metrics/pkg/apis/metrics"
	"k8s.io/metrics/pkg/apis/metrics/install"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"skerry.dev/skerry/server/apiserver/response"
	"skerry.dev/skerry/tunnel/exchange"
)

// The types have to be in the scheme by which the documents of all built-in kinds are made.
func init() { install.Install(legacyscheme.Scheme) }

// Group returns the API group. Pods is the storage of the Pods of spaces.
func Group(pods Pods, sites exchange.Sites) *genericapiserver.APIGroupInfo {
	info := genericapiserver.NewDefaultAPIGroupInfo(
		metrics.GroupName,
		legacyscheme.Scheme,
		legacyscheme.ParameterCodec,
		legacyscheme.Codecs,
	)
	// The scheme has newer versions, which sites do not serve.
	info.PrioritizedVersions = []schema.GroupVersion{v1beta1.SchemeGroupVersion}
	info.VersionedResourcesStorageMap[v1beta1.SchemeGroupVersion.Version] = map[string]rest.Storage{
		"pods": &storage{
			TableConvertor: rest.NewDefaultTableConvertor(metrics.Resource("pods")),
			pods:           pods,
			sites:          sites,
		},
	}
	return &info
}

// nodesPath is where metrics of nodes would be.
var nodesPath = "/apis/" + v1beta1.SchemeGroupVersion.String() + "/nodes"

// IsOfNodes reports whether a path is that of metrics of nodes, which a space does not have.
func IsOfNodes(path string) bool {
	return path == nodesPath || strings.HasPrefix(path, nodesPath+"/")
}

// NoNodes says why there are no metrics of nodes.
func NoNodes() *metav1.Status {
	return response.Status(
		http.StatusNotFound,
		metav1.StatusReasonNotFound,
		"a space has no metrics of nodes: they are those of sites; "+
			"kubectl top pods shows its Pods; ask a site's own cluster for its nodes",
	)
}
