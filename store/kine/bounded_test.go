package kine

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/etcd/client/v3/kubernetes"
)

// churn writes one object again and again.
func churn(t *testing.T, s *Store, key string, writes int) {
	t.Helper()
	value := make([]byte, 1<<10)
	rev := create(t, s, key, "first")
	for i := range writes {
		resp, err := s.Client().OptimisticPut(t.Context(), key,
			fmt.Appendf(value[:0:0], "%d%s", i,
				value), rev, kubernetes.PutOptions{GetOnFailure: true})
		if err != nil || !resp.Succeeded {
			t.Fatalf("write %d: %v", i, err)
		}
		rev = resp.Revision
	}
}

// The file of a store that is written to all the time stays about as large as what it has to keep.
func TestFileStaysBounded(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), Config{Dir: dir, CompactInterval: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	size := func() int64 {
		fi, err := os.Stat(filepath.Join(dir, FileName))
		if err != nil {
			t.Fatal(err)
		}
		return fi.Size()
	}
	churn(t, s, "/registry/a", 2000)
	before := size()
	churn(t, s, "/registry/b", 6000)
	// 8,000 writes of 1 KiB, each of which also keeps the value before, are more than 16 MB.
	if after := size(); after > 3*before && after > 10<<20 {
		t.Errorf("the file has %d bytes after 2,000 writes, %d after 8,000", before, after)
	}
}
