package kine

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/store/storetest"
)

// Who keeps the database locked is named, with a log of changes and without.
func TestLockHolder(t *testing.T) {
	for _, mode := range []string{"WAL", "DELETE"} {
		dir := t.TempDir()
		db, err := openSQL(dir + "/" + FileName)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), `PRAGMA journal_mode = `+mode+`; CREATE TABLE t (i INTEGER)`); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if _, held, err := LockHolder(dir); held || err != nil {
			t.Fatalf("%s: held %v, %v", mode, held, err)
		}
		other, end := storetest.OtherProcess(t, "TestHoldDatabase", holdVariable, dir)
		if pid, held, err := LockHolder(dir); !held || pid != other || err != nil {
			t.Errorf("%s: %d, %v, %v; process %d has it", mode, pid, held, err, other)
		}
		var locked *LockedError
		err = awaitUnlocked(t.Context(), dir, 2, time.Millisecond)
		if !errors.As(err, &locked) || !strings.Contains(err.Error(), fmt.Sprintf("process %d (", other)) {
			t.Errorf("%s: opening says %v", mode, err)
		}
		released := make(chan error, 1)
		go func() { released <- awaitUnlocked(t.Context(), dir, 1e6, time.Millisecond) }()
		end()
		if err := <-released; err != nil {
			t.Errorf("%s: opening does not go on once the other process has ended: %v", mode, err)
		}
		if _, held, err := LockHolder(dir); held || err != nil {
			t.Errorf("%s: held %v, %v after its end", mode, held, err)
		}
	}
	if _, held, err := LockHolder(t.TempDir()); held || err != nil {
		t.Errorf("an empty directory: %v, %v", held, err)
	}
}

// holdVariable has the directory whose database TestHoldDatabase keeps locked for another test.
const holdVariable = "SKERRY_HOLD_DATABASE"

// TestHoldDatabase is the other process of TestLockHolder.
func TestHoldDatabase(t *testing.T) {
	dir := os.Getenv(holdVariable)
	if dir == "" {
		t.Skip("it is a part of TestLockHolder")
	}
	db, err := openSQL(dir + "/" + FileName)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	storetest.Hold()
}
