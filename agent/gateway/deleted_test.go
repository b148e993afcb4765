package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/store"
)

// A space that was deleted has no rights at the site any more: what was kept for its accounts is not
// tried to be removed for ever. Where the space is there, each failure is told in the same words, with
// the way out.
func TestAccountsOfADeletedSpace(t *testing.T) {
	api, p := newAPI(t), newParent(t)
	s := newSite(t, t.TempDir(), api, p, "127.0.0.1:0")
	accounts := []string{"op", "a", "b", "c", "d"}
	for _, account := range accounts {
		must(t, s.provided(t, account))
	}
	s.Inventory.Put(inventory.NamespaceKey("shop", "app"), inventory.Record{UID: "n-1", Prefix: "pre-"})
	old := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, account := range accounts {
			if a := s.accounts[identity{"shop", "app", account}]; a != nil {
				a.seen = time.Now().Add(-unusedTime)
			}
		}
	}
	tries := 0
	api.Handle(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "/namespaces/pre-app/secrets/") {
			return false
		}
		tries++
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind":"Status","status":"Failure","reason":"Forbidden","code":403,"message":"no rights"}`)
		return true
	})
	said := ""
	for range 5 {
		old()
		err := s.look(t.Context())
		if err == nil || said != "" && err.Error() != said {
			t.Fatalf("said %v\nbefore %s", err, said)
		}
		said = err.Error()
	}
	if !strings.Contains(said, "delete the Secret "+store.PodAPISecret("op")+" there") {
		t.Errorf("no way out: %s", said)
	}
	s.Inventory.Delete(inventory.NamespaceKey("shop", "app"))
	old()
	must(t, s.look(t.Context()))
	tries = 0
	old()
	must(t, s.look(t.Context()))
	if tries != 0 || s.uses("") {
		t.Errorf("tried %d times more", tries)
	}
}
