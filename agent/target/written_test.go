package target

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"k8s.io/client-go/rest"
)

// TestWritten: every write is told with its outcome, reads and dry runs are not.
func TestWritten(t *testing.T) {
	answer := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(answer)
		if answer == http.StatusOK {
			fmt.Fprint(w, `{"metadata":{"name":"web","uid":"u"}}`)
			return
		}
		fmt.Fprintf(w, `{"kind":"Status","reason":"Forbidden","code":%d,"details":{"name":"web"}}`, answer)
	}))
	defer server.Close()
	var told []string
	clients := NewClients(Cluster(&rest.Config{Host: server.URL}))
	defer clients.CloseIdle()
	clients.Written = func(w Written) {
		told = append(told, fmt.Sprint(w.Verb, " ", w.Path, " ", w.Space, " ", w.Code, " ", w.Reason))
	}
	c, err := clients.For("shop")
	if err != nil {
		t.Fatal(err)
	}
	ctx := InSpace(context.Background(), "shop")
	r := Resource{Group: "apps", Version: "v1", Plural: "deployments"}
	at := r.Path("default", "web")
	send := func(method, kind string, query map[string][]string) {
		_, _ = c.call(ctx, method, at, query, kind, []byte("{}"), nil)
	}
	send(http.MethodGet, "", nil)
	send(http.MethodPatch, applyType, map[string][]string{"dryRun": {"All"}})
	send(http.MethodPatch, applyType, nil)
	send(http.MethodPatch, mergeType, nil)
	answer = http.StatusForbidden
	send(http.MethodPost, jsonType, nil)
	server.Close()
	send(http.MethodDelete, jsonType, nil)
	want := []string{
		"apply " + at + " shop 200 ",
		"patch " + at + " shop 200 ",
		"create " + at + " shop 403 Forbidden",
		"delete " + at + " shop 0 Unreachable",
	}
	if !slices.Equal(told, want) {
		t.Errorf("%q\nwant %q", told, want)
	}
}
