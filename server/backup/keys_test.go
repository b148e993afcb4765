package backup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// keyed is a database whose values a key encrypts.
var keyed = Database{File: plain.File, Snapshot: plain.Snapshot, Inspect: plain.Inspect,
	Needs: func(context.Context, string) ([]string, error) { return []string{"a key"}, nil },
	Opens: func(_ context.Context, _, dir string, outside Outside) error {
		if outside.KeyFile == "right" {
			return nil
		}
		_, err := os.Stat(filepath.Join(dir, "pki", "encryption-keys"))
		return err
	},
}

// TestKeysOfValues: a backup says which keys it needs, and is restored with them only.
func TestKeysOfValues(t *testing.T) {
	from, with := center(t), center(t)
	write(t, filepath.Join(with, "pki", "encryption-keys"), []byte("k"))
	file := filepath.Join(t.TempDir(), "b.skerry")
	m, err := Take(t.Context(), TakeOptions{Dir: from, File: file, Version: "v1", Database: keyed})
	if err != nil || m.HasKeys || len(m.Encryption) != 1 {
		t.Fatalf("%+v, %v", m, err)
	}
	to := filepath.Join(t.TempDir(), "new")
	for _, o := range []RestoreOptions{
		{},
		{DryRun: true},
		{Outside: Outside{KeyFile: "wrong"}},
	} {
		o.File, o.Dir, o.Database = file, to, keyed
		if err := os.MkdirAll(to, 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := Restore(t.Context(), o)
		if !errors.Is(err, ErrNoKey) {
			t.Errorf("with the key %q: %v", o.Outside.KeyFile, err)
		} else if strings.Contains(err.Error(), unpackedPrefix) || strings.Contains(err.Error(), "skerry-restore-") {
			t.Errorf("a path that is gone is named: %v", err)
		}
		if left, err := os.ReadDir(to); err != nil || len(left) > 0 {
			t.Errorf("a restore that failed left %v, %v", left, err)
		}
	}
	if m, err := Restore(
		t.Context(),
		RestoreOptions{File: file, Dir: to, Outside: Outside{KeyFile: "right"}, Database: keyed},
	); err != nil ||
		m.HasKeys {
		t.Errorf("with the key: %+v, %v", m, err)
	}
	if m, err := Take(
		t.Context(),
		TakeOptions{Dir: with, File: filepath.Join(t.TempDir(), "c.skerry"), Version: "v1", Database: keyed},
	); err != nil ||
		!m.HasKeys {
		t.Errorf("with the key in it: %+v, %v", m, err)
	}
}
