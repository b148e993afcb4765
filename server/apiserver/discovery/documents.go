package discovery

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	restful "github.com/emicklei/go-restful/v3"
	apiextensionsapiserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/apiserver/pkg/server/routes"
	"k8s.io/kube-openapi/pkg/builder"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/common/restfuladapter"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"skerry.dev/skerry/server/apiserver/response"
)

const (
	// OpenAPIv2Path is the path of the older document, which has all kinds.
	OpenAPIv2Path = "/openapi/v2"
	// OpenAPIv3Path is the path of the list of the newer documents, one for each group version,
	// which are below it.
	OpenAPIv3Path = "/openapi/v3"
	// OpenAPIv3Proto is the content type of the protobuf form of a newer document.
	OpenAPIv3Proto = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
	// JSONType is the content type of all other documents.
	JSONType = "application/json"
)

// documents serves the OpenAPI documents of the built-in kinds. Upstream builds them at the start
// and keeps their parts, which take half of the heap of a new center. documents builds them at the
// first request, and keeps them compressed.
type documents struct {
	container *restful.Container
	v2        *common.Config
	v3        *common.OpenAPIV3Config

	mu   sync.Mutex // held while documents are built: whoever comes meanwhile wants them, too
	kept map[document][]byte
}

// document is one answer.
type document struct{ path, contentType string }

// ServeDocuments adds the documents to a server. All its groups must be installed. g is the
// server's configuration.
func ServeDocuments(s *genericapiserver.GenericAPIServer, g *genericapiserver.Config) {
	d := &documents{
		container: s.Handler.GoRestfulContainer,
		v2:        g.OpenAPIConfig,
		v3:        g.OpenAPIV3Config,
		kept:      map[document][]byte{},
	}
	s.Handler.NonGoRestfulMux.Handle(OpenAPIv2Path, d)
	s.Handler.NonGoRestfulMux.Handle(OpenAPIv3Path, d)
	s.Handler.NonGoRestfulMux.HandlePrefix(OpenAPIv3Path+"/", d)
	// The types of server-side apply are made of the definitions by now; for nothing else they
	// would stay (6 MB). The builder of these types has left a function in its configuration that
	// holds them, too, and makes it anew where it is missing.
	d.v3.Definitions, d.v3.GetOperationIDAndTagsFromRoute = nil, nil
}

// DefinitionNames returns the names of the kinds in documents.
func DefinitionNames() *openapinamer.DefinitionNamer {
	return openapinamer.NewDefinitionNamer(legacyscheme.Scheme, apiextensionsapiserver.Scheme)
}

// ServeHTTP answers with a document. Only those of one group version have a form besides JSON.
func (d *documents) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	is := document{strings.TrimSuffix(r.URL.Path, "/"), JSONType}
	if strings.HasPrefix(is.path, OpenAPIv3Path+"/") && strings.Contains(r.Header.Get("Accept"), "proto-openapi") {
		is.contentType = OpenAPIv3Proto
	}
	body, err := d.get(is)
	switch {
	case err != nil:
		response.Write(
			w,
			response.Status(http.StatusInternalServerError, "InternalError", "build an OpenAPI document: "+err.Error()),
		)
	case body == nil:
		response.Write(w, response.NotFound())
	default:
		response.WriteBody(w, r, is.contentType, body)
	}
}

// get returns a document, nil if there is none.
func (d *documents) get(is document) ([]byte, error) {
	packed, err := d.packed(is)
	if packed == nil || err != nil {
		return nil, err
	}
	return Unpack(packed)
}

func (d *documents) packed(is document) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if packed, known := d.kept[is]; known {
		return packed, nil
	}
	plain := document{is.path, JSONType}
	if _, built := d.kept[document{OpenAPIv3Path, JSONType}]; is.path != OpenAPIv2Path && !built {
		if err := d.buildV3(); err != nil {
			return nil, err
		}
	} else if is.path == OpenAPIv2Path {
		if err := d.buildV2(); err != nil {
			return nil, err
		}
	}
	if packed := d.kept[plain]; is.contentType == OpenAPIv3Proto && packed != nil {
		text, err := Unpack(packed)
		if err != nil {
			return nil, err
		}
		body, err := handler3.ToV3ProtoBinary(text)
		if err != nil {
			return nil, err
		}
		d.kept[is] = Pack(body)
	}
	return d.kept[is], nil
}

// buildV3 makes the list of newer documents, and all that are in it: the list has their hashes.
func (d *documents) buildV3() error {
	config := genericapiserver.DefaultOpenAPIV3Config(d.v3.GetDefinitions, DefinitionNames())
	config.Info = d.v3.Info
	built := mux.NewPathRecorderMux("openapi")
	routes.OpenAPI{V3Config: config}.InstallV3(d.container, built)
	from, err := http.NewRequest(http.MethodGet, OpenAPIv3Path, nil)
	if err != nil {
		return err
	}
	list := response.Ask(built, from, OpenAPIv3Path, JSONType)
	var all handler3.OpenAPIV3Discovery
	if err := json.Unmarshal(list.Body, &all); err != nil {
		return fmt.Errorf("list the documents (%d): %w", list.Code, err)
	}
	for group := range all.Paths {
		path := OpenAPIv3Path + "/" + group
		d.kept[document{path, JSONType}] = Pack(response.Ask(built, from, path, JSONType).Body)
	}
	d.kept[document{OpenAPIv3Path, JSONType}] = Pack(list.Body)
	return nil
}

// buildV2 makes the older document, which has all kinds.
func (d *documents) buildV2() error {
	config := *d.v2 // the builder leaves a function in it that holds what it builds
	swagger, err := builder.BuildOpenAPISpecFromRoutes(
		restfuladapter.AdaptWebServices(d.container.RegisteredWebServices()),
		&config,
	)
	if err != nil {
		return err
	}
	swagger.Definitions = handler.PruneDefaults(swagger.Definitions)
	body, err := swagger.MarshalJSON()
	if err != nil {
		return err
	}
	d.kept[document{OpenAPIv2Path, JSONType}] = Pack(body)
	return nil
}

// Pack compresses a document.
func Pack(body []byte) []byte {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(body)
	_ = w.Close()
	return bytes.Clone(packed.Bytes())
}

// Unpack returns what Pack has compressed.
func Unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
