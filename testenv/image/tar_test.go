package main

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestPackUnpack(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(from, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	content := bytes.Repeat([]byte("0123456789\x00"), 1<<17)
	if err := os.WriteFile(filepath.Join(from, "a/b/c"), content, 0o640); err != nil {
		t.Fatal(err)
	}
	t.Chdir(from)
	var packed bytes.Buffer
	if err := pack(&packed, []string{"a"}); err != nil {
		t.Fatal(err)
	}
	if err := unpack(&packed, to); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(to, "a/b/c")); err != nil ||
		!bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if info, err := os.Stat(filepath.Join(to, "a/b/c")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestUnpackOutside: nothing is made outside of the directory.
func TestUnpackOutside(t *testing.T) {
	var packed bytes.Buffer
	out := tar.NewWriter(&packed)
	if err := out.WriteHeader(&tar.Header{Name: "../outside", Typeflag: tar.TypeReg, Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	out.Close()
	dir := filepath.Join(t.TempDir(), "inside")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unpack(&packed, dir); err == nil {
		t.Error("it was made")
	}
	if _, err := os.Stat(filepath.Join(dir, "../outside")); err == nil {
		t.Error("it is there")
	}
}

func TestOptions(t *testing.T) {
	for _, args := range [][]string{{}, {"-xmf"}, {"-xmf", "file"}, {"--no-such", "-xmf", "-"}, {"-tf", "-"}} {
		if archive(args) == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
