package agent

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
)

// TestACenterIsNoWorkloadCluster: an agent with the kubeconfig of a center ends, and says what to do.
func TestACenterIsNoWorkloadCluster(t *testing.T) { inBubble(t, aCenterIsNoWorkloadCluster) }

func aCenterIsNoWorkloadCluster(t *testing.T) {
	s := newSite(t)
	if err := s.identifyOnce(t.Context()); err != nil {
		t.Fatalf("a workload cluster: %v", err)
	}
	var version atomic.Value // of string: the site itself asks for it, too
	version.Store(`{"gitVersion":"v1.37.2"}`)
	s.api.Handle(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/version" {
			return false
		}
		_, err := w.Write([]byte(version.Load().(string)))
		return err == nil
	})
	client, err := s.clients.For("")
	if err != nil {
		t.Fatal(err)
	}
	for _, said := range []string{`{"gitVersion":"v1.36.3+skerry"}`, `{"gitVersion":"v1.37.2","skerry":true}`} {
		version.Store(said)
		if err := workloadCluster(t.Context(), client); !errors.Is(err, ErrRefused) || !errors.Is(err, errCenter) {
			t.Errorf("a center with %s: %v", said, err)
		}
	}
	s.api.Handle(func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) })
	if err := workloadCluster(t.Context(), client); err != nil {
		t.Errorf("a target that does not answer: %v", err)
	}
}
