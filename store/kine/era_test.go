package kine

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"skerry.dev/skerry/store"
)

// Each start begins an era where the one before ended, and a copy of the data that is taken in
// between knows nothing of the later ones.
func TestErasSurviveAndBranch(t *testing.T) {
	dir, backup := t.TempDir(), t.TempDir()
	run := func(dir string, writes int) (store.Eras, int64) {
		s := open(t, dir)
		for i := range writes {
			create(t, s, fmt.Sprintf("/registry/%d-%d", time.Now().UnixNano(), i), "v")
		}
		revision, err := s.Revision(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return s.Eras(), revision
	}
	first, end := run(dir, 10)
	if len(first) != 1 || first[0].From != 0 || first[0].Era == 0 {
		t.Fatalf("eras of a new store: %+v", first)
	}
	// the database and, where closing left one, its log
	if err := os.CopyFS(backup, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	second, later := run(dir, 5)
	if len(second) != 2 || second[0] != first[0] || second[1].From != end {
		t.Fatalf("eras after a restart at %d: %+v", end, second)
	}
	restored, _ := run(backup, 50)
	if len(restored) != 2 || restored[0] != first[0] || restored[1].From != end ||
		restored[1].Era == second[1].Era {
		t.Fatalf("eras of a restored copy: %+v", restored)
	}
	if got := restored.Shared(second[1].Era, later+40); got != store.NotShared {
		t.Errorf("the restored copy shares %d with an era that it does not know", got)
	}
	if got := restored.Shared(first[0].Era, later+40); got != end {
		t.Errorf("the restored copy shares %d with the era that it was taken in, want %d", got, end)
	}
}

func TestOldErasAreForgotten(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	_, eras, err := prepare(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	first := eras[0]
	db, err := openSQL(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n
		WHERE i < ?) INSERT INTO skerry_era (era, revision) SELECT i, i FROM n`, maxEras); err != nil {
		t.Fatal(err)
	}
	if _, eras, err = prepare(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if len(eras) != maxEras || eras[0] == first || eras[len(eras)-2].From != maxEras {
		t.Errorf("%d eras are remembered, from %+v to %+v", len(eras), eras[0], eras[len(eras)-1])
	}
}
