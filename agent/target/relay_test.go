package target

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"skerry.dev/skerry/store"
)

// A relay makes a space with the names that its parent gives the space's namespaces at sites, and
// maps nothing itself.
func TestARelayHandsTheMappingOn(t *testing.T) {
	var made []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind":"Status","reason":"NotFound","code":404,"details":{"name":"x"}}`)
			return
		}
		body, _ := io.ReadAll(r.Body)
		made = append(made, string(body))
		fmt.Fprint(w, `{}`)
	}))
	defer server.Close()
	access := Relay(func(string) *rest.Config { return &rest.Config{Host: server.URL} })
	clients := NewClients(access)
	defer clients.CloseIdle()
	for space, mapping := range map[string]Mapping{"bank": "bank-", "shop": ""} {
		made = nil
		if err := clients.EnsureSpace(t.Context(), space, mapping); err != nil {
			t.Fatal(err)
		}
		all := strings.Join(made, "")
		if len(made) != 1 || strings.Contains(all, `"namespaceMapping":{"prefix":"bank-"}`) != (mapping != "") {
			t.Errorf("%s is made as %s", space, all)
		}
	}
	o := &Object{}
	o.Metadata.Annotations = map[string]string{AnnotationNamespacePrefix: "bank-"}
	if m := clients.Mapping(o); m != "" {
		t.Errorf("a relay has names of its own: %s", m)
	}
	for _, hooks := range []store.Key{
		{Space: "bank", Group: "admissionregistration.k8s.io", Resource: "mutatingwebhookconfigurations", Name: "x"},
		{Space: "bank", Group: "apps", Resource: "deployments", Namespace: "app", Name: "x"},
	} {
		at := clients.KeyThere("", hooks)
		if here, ok := clients.KeyHere("", at); at != hooks || here != hooks || !ok {
			t.Errorf("a relay has %s as %s, and reads it as %s", hooks, at, here)
		}
	}
	if root, err := access.(*relay).client(); err == nil {
		defer root.http.CloseIdleConnections()
	}
}
