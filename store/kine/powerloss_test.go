package kine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.etcd.io/etcd/client/v3/kubernetes"
)

// A power cut leaves the end of the log as the disk had it: short, or with sectors that were never written, also
// before others that were. What was acknowledged, and so synced, before that is there with its revision. Of what came
// after it a beginning is there, and nothing by halves. The center goes on from there.
func TestPowerLoss(t *testing.T) {
	const synced, writes, frame = 6, 12, 4096 + 24
	dir := t.TempDir()
	s := open(t, dir)
	var revisions []int64
	var safe int
	for i := range writes {
		if i == synced {
			safe = len(contentOf(t, filepath.Join(dir, FileName+"-wal")))
		}
		revisions = append(revisions, create(t, s, written(i), written(i)))
	}
	database, log := contentOf(t, filepath.Join(dir, FileName)), contentOf(t, filepath.Join(dir, FileName+"-wal"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if safe == 0 || len(log) < safe+frame {
		t.Fatalf("the log has %d bytes after %d writes and %d after %d: nothing can be torn", safe, synced, len(log), writes)
	}
	var found []int
	for at := safe; at < len(log); at += frame / 2 {
		for name, torn := range map[string][]byte{
			"short":           log[:at],
			"with a hole":     slices.Concat(log[:at], make([]byte, min(512, len(log)-at)), log[min(at+512, len(log)):]),
			"with old bytes":  slices.Concat(log[:at], log[at-safe:][:min(512, len(log)-at)], log[min(at+512, len(log)):]),
			"without its end": slices.Concat(log[:at], make([]byte, len(log)-at)),
		} {
			found = append(found, afterPowerLoss(t, fmt.Sprintf("%s at %d", name, at), database, torn, revisions, synced))
		}
	}
	slices.Sort(found)
	if found = slices.Compact(found); found[0] != synced || len(found) < 4 {
		t.Errorf("of the writes %v were there: the test tears nothing", found)
	}
}

func written(i int) string { return fmt.Sprintf("/registry/powerloss/%02d", i) }

func contentOf(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// afterPowerLoss opens what a disk has, and returns how many of the writes are there.
func afterPowerLoss(t *testing.T, name string, database, log []byte, revisions []int64, synced int) (there int) {
	t.Helper()
	dir := t.TempDir()
	for file, data := range map[string][]byte{FileName: database, FileName + "-wal": log} {
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, dir)
	defer func() {
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}()
	for i, revision := range revisions {
		got, err := s.Client().Get(t.Context(), written(i), kubernetes.GetOptions{})
		switch {
		case err != nil:
			t.Fatalf("%s: read write %d: %v", name, i, err)
		case got.KV == nil && i < synced:
			t.Fatalf("%s: write %d of %d that were synced is lost", name, i, synced)
		case got.KV == nil:
		case i != there || got.KV.ModRevision != revision || string(got.KV.Value) != written(i):
			t.Fatalf("%s: write %d is there as %+v, after %d others", name, i, got.KV, there)
		default:
			there++
		}
	}
	if after := create(t, s, "/registry/powerloss/after", "after"); after <= revisions[there-1] {
		t.Errorf("%s: the next write has revision %d, the last one before has %d", name, after, revisions[there-1])
	}
	var sound string
	if err := s.file.table.DB.QueryRowContext(t.Context(), `PRAGMA integrity_check`).Scan(&sound); err != nil || sound != "ok" {
		t.Errorf("%s: the database is %s, %v", name, sound, err)
	}
	return there
}
