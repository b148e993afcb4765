package kine

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
)

// What SQLite says of its storage is told with what to do, and anything else as it is.
func TestTroubleInWords(t *testing.T) {
	for words, want := range map[string]TroubleKind{
		"write /registry/x: database or disk is full (13)":  Full,
		"disk I/O error (4874)":                             Broken, // with space on the disk
		"database disk image is malformed (11)":             Damaged,
		"prepare state.db: file is not a database (26)":     Damaged,
		"attempt to write a readonly database (8)":          ReadOnly,
		"begin a transaction: database is locked (5)":       "",
		"a request of 3145728 bytes is larger than 2097152": "",
	} {
		err := errors.New(words)
		is := troubleOf(t.TempDir(), fmt.Errorf("in a transaction: %w", err))
		switch {
		case want == "" && is == nil:
		case is == nil || is.Kind != want || !errors.Is(is, err) ||
			!strings.Contains(is.Error(), words):
			t.Errorf("%s: %+v, want %s", words, is, want)
		case len(strings.Fields(is.Error())) < 10:
			t.Errorf("%s is told in too few words: %s", words, is)
		}
	}
}

// A damaged database is told with its file, and how to come back.
func TestDamagedDatabase(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	if err := os.WriteFile(path, []byte(strings.Repeat("no database", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	var trouble *Trouble
	if !errors.As(err, &trouble) || trouble.Kind != Damaged ||
		!strings.Contains(err.Error(), path) || !strings.Contains(err.Error(),
		"skerry center restore") {
		t.Errorf("opened with %v", err)
	}
}

// The lines that kine logs by itself have words, too.
func TestTroubleInLogs(t *testing.T) {
	e := &logrus.Entry{Message: "error in txn request: disk I/O error (4874)"}
	if err := (withoutValues{}).Fire(e); err != nil || !strings.HasSuffix(e.Message,
		"(4874): the disk is full, or fails") {
		t.Errorf("%q, %v", e.Message, err)
	}
}
