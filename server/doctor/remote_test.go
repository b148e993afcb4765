package doctor

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// What is packed of a center is its sites and spaces, without annotations.
func TestRemote(t *testing.T) {
	a := newAPI(t)
	marked, space := site("paris"), v1alpha1.Space{}
	marked.Annotations = map[string]string{"example.com/note": canary}
	space.Name = "shop"
	a.set(func() { a.sites, a.spaces = []v1alpha1.SyncTarget{marked}, []v1alpha1.Space{space} })
	r, err := Open(a.kubeconfig(t), "")
	if err != nil {
		t.Fatal(err)
	}
	objects, err := r.Objects(t.Context())
	data, _ := json.Marshal(objects)
	if err != nil || len(objects) != 2 || objects[0].Name != "paris" || objects[1].Kind != "Space" ||
		strings.Contains(string(data), canary) {
		t.Errorf("%s %v", data, err)
	}
	if text, err := r.Get(t.Context(), "/readyz"); err != nil || !strings.Contains(string(text), "ok") {
		t.Errorf("%s %v", text, err)
	}
	if _, err := r.Get(t.Context(), "/nosuch"); err == nil || !strings.Contains(err.Error(), "HTTP 404") {
		t.Errorf("%v", err)
	}
	a.set(func() { a.code = http.StatusUnauthorized })
	if _, err := r.Objects(t.Context()); err == nil {
		t.Error("a refusal is no list")
	}
}
