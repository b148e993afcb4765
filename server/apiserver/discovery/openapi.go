package discovery

import (
	"encoding/json"
	"net/http"
	"strings"

	openapiv2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"
	"k8s.io/kube-openapi/pkg/handler3"

	"skerry.dev/skerry/server/apiserver/inventory"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/response"
)

// openAPIv2Proto is the content type of the protobuf form in an answer. Clients ask for it by an
// older name with an @ as well. That is no media type, so they could not parse it in an answer.
const openAPIv2Proto = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

// ServeOpenAPIv3Root lists the documents of all servers, by URLs that lead back into this space: through
// the gateway of a site no path names one.
func ServeOpenAPIv3Root(w http.ResponseWriter, r *http.Request, native http.Handler, servers []Part) {
	type item struct {
		URL string `json:"serverRelativeURL"`
	}
	all := struct {
		Paths map[string]item `json:"paths"`
	}{map[string]item{}}
	base := request.URL("", request.Space(r.Context()))
	if request.Site(r.Context()) != "" {
		base = ""
	}
	for _, h := range handlers(native, servers) {
		more := all
		more.Paths = map[string]item{}
		a := response.Ask(h, r, OpenAPIv3Path, JSONType)
		if a.Code != http.StatusOK || json.Unmarshal(a.Body, &more) != nil {
			a.Replay(w)
			return
		}
		for path, i := range more.Paths {
			have, is := all.Paths[path]
			switch _, hash, _ := strings.Cut(i.URL, "hash="); {
			case !is:
				all.Paths[path] = item{base + i.URL}
			case "/"+path == inventory.VersionPath && hash != "":
				all.Paths[path] = item{have.URL + "." + hash} // the document is of both
			}
		}
	}
	response.WriteJSON(w, r, JSONType, all)
}

// ServeOpenAPIv3 answers for one group version from whichever server has it. The answer for an
// unknown one is empty, not a 404. It removes the hash from the query: upstream would redirect an
// outdated one to a URL without the space.
func ServeOpenAPIv3(w http.ResponseWriter, r *http.Request, native http.Handler, servers []Part) {
	accept := r.Header.Get("Accept")
	if r.URL.Path == OpenAPIv3Path+inventory.VersionPath {
		serveMergedOpenAPIv3(w, r, handlers(native, servers))
		return
	}
	for _, h := range handlers(native, servers) {
		if a := response.Ask(h, r, r.URL.Path, accept); a.Code == http.StatusOK && len(a.Body) > 0 {
			a.Header.Del("Etag")
			contentType := a.Header.Get("Content-Type")
			response.WriteBody(w, r, contentType, a.Body)
			return
		}
	}
	response.Write(w, response.NotFound())
}

// serveMergedOpenAPIv3 answers for a group version of which several servers have kinds.
func serveMergedOpenAPIv3(w http.ResponseWriter, r *http.Request, servers []http.Handler) {
	var all map[string]json.RawMessage
	paths, components, schemas := map[string]json.RawMessage{}, map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for _, h := range servers {
		a := response.Ask(h, r, r.URL.Path, JSONType)
		if a.Code != http.StatusOK || len(a.Body) == 0 {
			continue
		}
		var doc, parts map[string]json.RawMessage
		if json.Unmarshal(a.Body, &doc) != nil || merge(paths, doc["paths"]) != nil ||
			json.Unmarshal(doc["components"], &parts) != nil || merge(schemas, parts["schemas"]) != nil ||
			merge(components, doc["components"]) != nil {
			a.Replay(w)
			return
		}
		if all == nil {
			all = doc
		}
	}
	if all == nil {
		response.Write(w, response.NotFound())
		return
	}
	all["paths"], _ = json.Marshal(paths)
	components["schemas"], _ = json.Marshal(schemas)
	all["components"], _ = json.Marshal(components)
	body, err := json.Marshal(all)
	contentType := JSONType
	if err == nil && strings.Contains(r.Header.Get("Accept"), "proto-openapi") {
		contentType = OpenAPIv3Proto
		body, err = handler3.ToV3ProtoBinary(body)
	}
	if err != nil {
		response.Write(w, response.Status(http.StatusInternalServerError, "InternalError",
			"merge OpenAPI documents: "+err.Error()))
		return
	}
	response.WriteBody(w, r, contentType, body)
}

// ServeOpenAPIv2 merges the documents of all servers at each request: only old clients ask for it.
func ServeOpenAPIv2(w http.ResponseWriter, r *http.Request, native http.Handler, servers []Part) {
	var all map[string]json.RawMessage
	paths := map[string]json.RawMessage{}
	definitions := map[string]json.RawMessage{}
	parameters := map[string]json.RawMessage{}
	for _, h := range handlers(native, servers) {
		a := response.Ask(h, r, OpenAPIv2Path, JSONType)
		var doc map[string]json.RawMessage
		if a.Code != http.StatusOK || json.Unmarshal(a.Body, &doc) != nil {
			a.Replay(w)
			return
		}
		if all == nil {
			all = doc
		}
		if merge(paths, doc["paths"]) != nil || merge(definitions, doc["definitions"]) != nil ||
			merge(parameters, doc["parameters"]) != nil {
			a.Replay(w)
			return
		}
	}
	all["paths"], _ = json.Marshal(paths)
	all["definitions"], _ = json.Marshal(definitions)
	all["parameters"], _ = json.Marshal(parameters)
	body, err := json.Marshal(all)
	contentType := JSONType
	if strings.Contains(r.Header.Get("Accept"), "proto-openapi") {
		contentType = openAPIv2Proto
		var doc *openapiv2.Document
		if doc, err = openapiv2.ParseDocument(body); err == nil {
			body, err = proto.Marshal(doc)
		}
	}
	if err != nil {
		response.Write(
			w,
			response.Status(http.StatusInternalServerError, "InternalError", "merge OpenAPI documents: "+err.Error()),
		)
		return
	}
	response.WriteBody(w, r, contentType, body)
}

// merge adds the members of a JSON object that are not there yet.
func merge(into map[string]json.RawMessage, raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	var more map[string]json.RawMessage
	if err := json.Unmarshal(raw, &more); err != nil {
		return err
	}
	for k, v := range more {
		if _, have := into[k]; !have {
			into[k] = v
		}
	}
	return nil
}

func handlers(native http.Handler, servers []Part) []http.Handler {
	out := []http.Handler{native}
	for _, s := range servers {
		out = append(out, s.openAPI())
	}
	return out
}
