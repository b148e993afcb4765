package kine

import (
	"testing"

	"go.etcd.io/etcd/client/v3/kubernetes"
)

// TestWatermark checks that a watermark is the revision of the newest write below its prefix, and
// of nothing else.
func TestWatermark(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.Close()
	w, twin := s.Watermark("/registry/configmaps"), s.Watermark("/registry/config")
	at := func(what string, want int64) {
		t.Helper()
		if got, ok := w.Revision(); got != want || !ok {
			t.Errorf("%s: %d %v, want %d", what, got, ok, want)
		}
	}
	at("before anything", 0)
	rev := create(t, s, "/registry/configmaps/team/default/a", "one")
	at("created", rev)
	create(t, s, "/registry/secrets/team/default/a", "one")
	at("something else created", rev)
	if resp, err := s.Client().OptimisticPut(t.Context(), "/registry/configmaps/team/default/a",
		nil, 0, kubernetes.PutOptions{}); err != nil || resp.Succeeded {
		t.Fatal(resp, err)
	}
	at("created again in vain", rev)
	key := "/registry/configmaps/team/default/a"
	if resp, err := s.Client().OptimisticPut(t.Context(), key, []byte("two"), rev-1,
		kubernetes.PutOptions{GetOnFailure: true}); err != nil || resp.Succeeded {
		t.Fatal(resp, err)
	}
	at("a conflict", rev)
	put, err := s.Client().OptimisticPut(t.Context(), key, []byte("two"), rev,
		kubernetes.PutOptions{GetOnFailure: true})
	if err != nil || !put.Succeeded {
		t.Fatal(put, err)
	}
	at("updated", put.Revision)
	gone, err := s.Client().OptimisticDelete(t.Context(), key, put.Revision,
		kubernetes.DeleteOptions{GetOnFailure: true})
	if err != nil || !gone.Succeeded {
		t.Fatal(gone, err)
	}
	at("deleted", gone.Revision)
	create(t, s, "/registry/secrets/team/default/b", "one")
	if _, _, _, err := s.backend.Delete(t.Context(), "/registry/configmaps/team/default/never",
		0); err != nil {
		t.Fatal(err)
	}
	at("nothing deleted", gone.Revision)
	if got, _ := twin.Revision(); got != 0 {
		t.Errorf("the prefix /registry/config has the writes of /registry/configmaps: %d", got)
	}
}

// TestWatermarkUnsure checks that a write of unknown outcome is not taken for one that did not take
// place, until a later one settles it.
func TestWatermarkUnsure(t *testing.T) {
	for name, c := range map[string]struct {
		outcome outcome
		unsure  bool
	}{
		"written":        {outcome{revision: 9, written: true}, false},
		"refused":        {outcome{}, false},
		"nobody can say": {outcome{unsure: true}, true},
	} {
		w := &Watermark{revision: 5}
		w.note(c.outcome)
		if _, ok := w.Revision(); ok == c.unsure {
			t.Errorf("%s: known is %v", name, ok)
		}
		w.note(outcome{revision: 12, written: true})
		if got, ok := w.Revision(); got != 12 || !ok {
			t.Errorf("%s, then a write: %d %v", name, got, ok)
		}
	}
}
