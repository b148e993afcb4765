package bolt_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
)

// resident is how many KB of a file this process has in memory.
func resident(t *testing.T, path string) (kb int) {
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	ours := false
	for line := range strings.Lines(string(maps)) {
		fields := strings.Fields(line)
		if !strings.HasSuffix(fields[0], ":") {
			ours = fields[len(fields)-1] == path
		}
		if n := 0; ours && fields[0] == "Rss:" {
			if _, err := fmt.Sscan(fields[1], &n); err != nil {
				t.Fatal(err)
			}
			kb += n
		}
	}
	return kb
}

func TestRest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	f, err := bolt.Open(path, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sink, err := f.Sink("reported", bolt.SinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	key, body := store.Key{Space: "s", Resource: "configmaps",
		Name: "one"}, []byte(`{"data":{"v":"1"}}`)
	batch := store.Batch{Through: store.Position{Incarnation: store.NewIncarnation(), Revision: 1},
		Entries: []store.Entry{{Key: key, Hash: store.HashBody(1, body), Revision: 1, Generation: 1,
			Body: body}}}
	if err := sink.Commit(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	before := resident(t, path)
	f.ReleaseMemory()
	if after := resident(t, path); before == 0 || after > before/2 {
		t.Errorf("%d KB before, %d after", before, after)
	}
	if e, ok, err := sink.Get(key); err != nil || !ok || !bytes.Equal(e.Body, body) {
		t.Errorf("after the rest: %v, %t, %v", e, ok, err)
	}
	batch.Through.Revision, batch.Entries[0].Revision = 2, 2
	if err := sink.Commit(t.Context(), batch); err != nil {
		t.Error(err)
	}
}
