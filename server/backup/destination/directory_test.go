package destination

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

var t0 = time.Date(2026, 11, 25, 2, 30, 0, 0, time.UTC)

// at is a backup of a center, some minutes after the first one.
func at(center string, minutes int) Name {
	return Name{Center: center, Made: t0.Add(time.Duration(minutes) * time.Minute)}
}

func put(t *testing.T, d Destination, dir, text string, name Name) {
	t.Helper()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Put(t.Context(), name, file); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
}

// conformance is what every destination does. location is an empty one, and other writes a file that
// is no backup beside the backups.
func conformance(t *testing.T, location string, o S3, other func(name string)) {
	d, err := Open(location, o)
	if err != nil {
		t.Fatal(err)
	}
	if all, err := d.List(t.Context()); err != nil || len(all) > 0 {
		t.Fatalf("an empty one has %v, %v", all, err)
	}
	if _, _, err := Read(t.Context(), location, o); !errors.Is(err, ErrNone) {
		t.Errorf("the newest of none: %v", err)
	}
	staging := d.Staging()
	if staging == "" {
		staging = t.TempDir()
	}
	put(t, d, staging, "second", at("aa", 2))
	put(t, d, staging, "first", at("aa", 1))
	for _, name := range []string{"notes.txt", "skerry-aa-20261125T023000Z.skerry.tmp", "x-skerry-aa-20261125T023000Z.skerry"} {
		other(name)
	}
	all, err := d.List(t.Context())
	if err != nil || len(all) != 2 || all[0] != (Stored{at("aa", 1), 5}) || all[1] != (Stored{at("aa", 2), 6}) {
		t.Fatalf("it has %v, %v", all, err)
	}
	reads := func(location, want string) {
		t.Helper()
		in, found, err := Read(t.Context(), location, o)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		if data, err := io.ReadAll(in); err != nil || string(data) != want || !strings.HasSuffix(found, ".skerry") {
			t.Errorf("%s is %q of %s, %v", location, data, found, err)
		}
	}
	reads(location, "second")
	reads(location+"/"+at("aa", 1).String(), "first")
	if _, _, err := Read(t.Context(), location+"/"+at("aa", 9).String(), o); err == nil {
		t.Error("one that is not there is read")
	}
	for range 2 { // the second time it is not there
		if err := d.Remove(t.Context(), at("aa", 2)); err != nil {
			t.Fatal(err)
		}
	}
	reads(location, "first")
	put(t, d, staging, "another's", at("bb", 0))
	if _, _, err := Read(t.Context(), location, o); !errors.Is(err, ErrSeveral) {
		t.Errorf("of two centers: %v", err)
	}
	reads(location+"/"+at("bb", 0).String(), "another's")
}

func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	conformance(t, dir, S3{}, func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	})
	file := filepath.Join(dir, "more")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Directory(dir).Put(t.Context(), at("aa", 1), file); err == nil {
		t.Error("a backup was replaced")
	}
}

func TestDirectoryInWords(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "disk")
	if _, err := Directory(missing).List(t.Context()); err == nil || !strings.Contains(err.Error(), "mount it") {
		t.Errorf("a missing one: %v", err)
	}
	for cause, want := range map[error]string{syscall.ENOSPC: "is full", syscall.EROFS: "ReadWritePaths=/b",
		syscall.EACCES: "center's user"} {
		if err := Explain("/b", &os.PathError{Op: "write", Path: "/b/x", Err: cause}); !strings.Contains(err.Error(), want) ||
			!errors.Is(err, cause) {
			t.Errorf("%v: %v", cause, err)
		}
	}
	if err := Explain("/b", context.Canceled); err != context.Canceled {
		t.Error(err)
	}
}

func TestLocations(t *testing.T) {
	for _, location := range []string{"", "backups", "./b", "s3://", "s3:///x", "s3://Bad_Bucket/x", "s3://b", "s3://bucket/../x"} {
		if d, err := Open(location, S3{}); err == nil {
			t.Errorf("%q is %s", location, d)
		}
	}
	for _, endpoint := range []string{"host:9000", "ftp://host", "https://", "https://host/path"} {
		if _, err := Open("s3://bucket/x", S3{Endpoint: endpoint}); err == nil {
			t.Errorf("the endpoint %q is accepted", endpoint)
		}
	}
	for location, want := range map[string]string{"/b/": "/b", "s3://bucket": "s3://bucket", "s3://bucket/a/b/": "s3://bucket/a/b"} {
		if d, err := Open(location, S3{}); err != nil || d.String() != want {
			t.Errorf("%s is %v, %v", location, d, err)
		}
	}
}
