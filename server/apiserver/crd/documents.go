package crd

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/utils/lru"

	"skerry.dev/skerry/server/apiserver/discovery"
	"skerry.dev/skerry/server/apiserver/response"
)

// customDocuments serves the OpenAPI documents of custom resources. Upstream keeps the parts of all
// documents in memory, which is half of the size of a Server. customDocuments builds a document at
// the first request, and keeps the latest ones of all spaces compressed.
type customDocuments struct {
	of   []*apiextensionsv1.CustomResourceDefinition // established
	kept *lru.Cache
}

// keptDocuments is how many documents of custom resources are kept: some kilobytes each.
const keptDocuments = 64

// ServeHTTP answers with a document. The documents of group versions have a protobuf form besides
// JSON.
func (d customDocuments) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	contentType := discovery.JSONType
	path := strings.TrimSuffix(r.URL.Path, "/")
	name, one := strings.CutPrefix(path, discovery.OpenAPIv3Path+"/")
	if one && strings.Contains(r.Header.Get("Accept"), "proto-openapi") {
		contentType = discovery.OpenAPIv3Proto
	}
	build := d.v2
	switch {
	case one:
		of := customDocuments{d.in(name), d.kept}
		if len(of.of) == 0 {
			response.Write(w, response.NotFound())
			return
		}
		d = of
		build = func() ([]byte, error) { return d.v3(name, contentType) }
	case path == discovery.OpenAPIv3Path:
		build = d.list
	}
	body, err := d.get(path+" "+contentType, build)
	if err != nil {
		response.Write(
			w,
			response.Status(http.StatusInternalServerError, "InternalError", "build an OpenAPI document: "+err.Error()),
		)
		return
	}
	response.WriteBody(w, r, contentType, body)
}

// get returns a document from those that are kept, or builds it.
func (d customDocuments) get(name string, build func() ([]byte, error)) ([]byte, error) {
	key := name + " " + d.version()
	if packed, ok := d.kept.Get(key); ok {
		return discovery.Unpack(packed.([]byte))
	}
	body, err := build()
	if err == nil {
		d.kept.Add(key, discovery.Pack(body))
	}
	return body, err
}

// version changes whenever one of the definitions does.
func (d customDocuments) version() string {
	sum := sha256.New()
	for _, crd := range d.of {
		fmt.Fprintln(sum, crd.UID, crd.Generation)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// in returns the definitions that belong in the document of a group version. The name of the
// document is apis/<group>/<version>.
func (d customDocuments) in(name string) []*apiextensionsv1.CustomResourceDefinition {
	return slices.DeleteFunc(slices.Clone(d.of), func(crd *apiextensionsv1.CustomResourceDefinition) bool {
		return !slices.Contains(documentsOf(crd), name)
	})
}

// documentsOf returns the names of the documents that a definition belongs in.
func documentsOf(crd *apiextensionsv1.CustomResourceDefinition) (names []string) {
	for _, v := range crd.Spec.Versions {
		if v.Served {
			names = append(names, "apis/"+crd.Spec.Group+"/"+v.Name)
		}
	}
	return names
}

// list makes the list of newer documents.
func (d customDocuments) list() ([]byte, error) {
	all := handler3.OpenAPIV3Discovery{Paths: map[string]handler3.OpenAPIV3DiscoveryGroupVersion{}}
	for _, crd := range d.of {
		for _, name := range documentsOf(crd) {
			if _, have := all.Paths[name]; !have {
				hash := customDocuments{of: d.in(name)}.version()
				all.Paths[name] = handler3.OpenAPIV3DiscoveryGroupVersion{
					ServerRelativeURL: discovery.OpenAPIv3Path + "/" + name + "?hash=" + hash,
				}
			}
		}
	}
	return json.Marshal(all)
}

// v3 makes the document of a group version.
func (d customDocuments) v3(name, contentType string) ([]byte, error) {
	var specs []*spec3.OpenAPI
	for _, crd := range d.of {
		s, err := builder.BuildOpenAPIV3(
			crd,
			name[strings.LastIndexByte(name, '/')+1:],
			builder.Options{IncludeSelectableFields: true},
		)
		if err != nil {
			return nil, err
		}
		specs = append(specs, s)
	}
	merged, err := builder.MergeSpecsV3(specs...)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(merged)
	if err == nil && contentType == discovery.OpenAPIv3Proto {
		return handler3.ToV3ProtoBinary(body)
	}
	return body, err
}

// v2 makes the older document, which has all kinds.
func (d customDocuments) v2() ([]byte, error) {
	merged := &spec.Swagger{}
	for _, crd := range d.of {
		for _, v := range crd.Spec.Versions {
			if !v.Served {
				continue
			}
			s, err := builder.BuildOpenAPIV2(crd, v.Name, builder.Options{V2: true, IncludeSelectableFields: true})
			if err != nil {
				return nil, err
			}
			s.Definitions = handler.PruneDefaults(s.Definitions) // as those of the built-in kinds are
			if merged, err = builder.MergeSpecs(merged, s); err != nil {
				return nil, err
			}
		}
	}
	return merged.MarshalJSON()
}

// Discovery returns a handler that answers /apis with the kinds of the server.
func (s *Server) Discovery() http.Handler { return s.discovery }

// OpenAPI returns a handler for the documents of the kinds of the server, restricted to the groups
// that has reports.
func (s *Server) OpenAPI(has func(group string) bool) http.Handler {
	of := slices.DeleteFunc(s.definitions(), func(crd *apiextensionsv1.CustomResourceDefinition) bool {
		return !has(crd.Spec.Group) || !IsEstablished(crd)
	})
	slices.SortFunc(
		of,
		func(a, b *apiextensionsv1.CustomResourceDefinition) int { return strings.Compare(a.Name, b.Name) },
	)
	return customDocuments{of, s.documents}
}

// ServeHTTP answers requests for the kinds of the server.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }
