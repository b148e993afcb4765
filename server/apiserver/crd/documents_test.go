package crd

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	openapiv3 "github.com/google/gnostic-models/openapiv3"
	"google.golang.org/protobuf/proto"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"skerry.dev/skerry/server/apiserver/discovery"
)

func described(kind string, versions ...string) *apiextensionsv1.CustomResourceDefinition {
	plural := strings.ToLower(kind) + "s"
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Name, crd.UID, crd.Generation = plural+".example.com", types.UID(kind), 1
	crd.Spec = apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "example.com",
		Scope: apiextensionsv1.NamespaceScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List", Plural: plural},
	}
	for _, v := range versions {
		crd.Spec.Versions = append(
			crd.Spec.Versions,
			apiextensionsv1.CustomResourceDefinitionVersion{
				Name:   v,
				Served: v != "v0",
				Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
						Type: "object",
						Properties: map[string]apiextensionsv1.JSONSchemaProps{
							"size": {Type: "string", Description: "of " + v},
						},
					}},
			},
		)
	}
	return crd
}

// TestCustomDocuments: the documents of custom resources have what is served and nothing else, in
// all forms, and are made anew when a definition changes.
func TestCustomDocuments(t *testing.T) {
	d := customDocuments{
		[]*apiextensionsv1.CustomResourceDefinition{described("Boat", "v0", "v1", "v2"), described("Sail", "v1")},
		lru.New(keptDocuments),
	}
	get := func(path, accept string) (int, string) {
		r, w := httptest.NewRequest("GET", path, nil), httptest.NewRecorder()
		r.Header.Set("Accept", accept)
		d.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	for range 2 { // built, and kept
		for _, c := range []struct{ path, has, hasNo string }{
			{"/openapi/v3", "/openapi/v3/apis/example.com/v2?hash=", "v0"},
			{"/openapi/v3/apis/example.com/v1", "com.example.v1.Boat", "com.example.v2"},
			{"/openapi/v3/apis/example.com/v1", "com.example.v1.Sail", "of v2"},
			{"/openapi/v3/apis/example.com/v2", "of v2", "Sail"},
			{"/openapi/v2", "com.example.v2.Boat", "v0"},
			{"/openapi/v2", "com.example.v1.Sail", "v0"},
		} {
			if code, body := get(c.path, discovery.JSONType); code != http.StatusOK || !strings.Contains(body, c.has) ||
				strings.Contains(body, c.hasNo) {
				t.Errorf("%s: %d, without %s or with %s", c.path, code, c.has, c.hasNo)
			}
		}
	}
	for _, path := range []string{
		"/openapi/v3/apis/example.com/v0",
		"/openapi/v3/apis/example.com",
		"/openapi/v3/apis/other.example.com/v1",
	} {
		if code, _ := get(path, discovery.JSONType); code != http.StatusNotFound {
			t.Errorf("%s: %d", path, code)
		}
	}
	_, body := get("/openapi/v3/apis/example.com/v2", discovery.OpenAPIv3Proto)
	var doc openapiv3.Document
	if err := proto.Unmarshal([]byte(body), &doc); err != nil || doc.Components == nil {
		t.Errorf("as protobuf: %v", err)
	}

	_, before := get("/openapi/v3", discovery.JSONType)
	d.of[0] = described("Boat", "v1", "v2")
	d.of[0].Generation, d.of[0].Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["size"] = 2,
		apiextensionsv1.JSONSchemaProps{
			Type:        "integer",
			Description: "changed",
		}
	if _, after := get("/openapi/v3", discovery.JSONType); after == before {
		t.Error("the list is the same after a change")
	}
	if _, after := get("/openapi/v3/apis/example.com/v1", discovery.JSONType); !strings.Contains(after, "changed") {
		t.Error("the document is the same after a change")
	}
}
