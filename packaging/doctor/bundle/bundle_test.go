package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"skerry.dev/skerry/packaging/doctor/bundle/bundletest"
)

func TestBundle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "b.tar.zst")
	w, err := Create(path, "v1", NewScrubber("hunter22"))
	if err != nil {
		t.Fatal(err)
	}
	w.Add("a/log", []byte("the password hunter22 was used\n"))
	w.AddJSON("a/status.json", map[string]string{"why": "hunter22"})
	w.Miss("a/metrics", "no answer with hunter22")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	files := bundletest.Unpack(t, path)
	var m Manifest
	if err := json.Unmarshal([]byte(files["manifest.json"]), &m); err != nil || len(m.Files) != 3 || m.Version != "v1" ||
		m.Files[2].Missing == "" {
		t.Errorf("%+v %v", m, err)
	}
	if files["a/log"] != "the password (removed) was used\n" {
		t.Errorf("%q", files["a/log"])
	}
	for name, content := range files {
		if strings.Contains(content, "hunter22") {
			t.Errorf("%s shows the secret", name)
		}
	}
	if _, err := Create(path, "v1", NewScrubber()); !errors.Is(err, ErrExists) {
		t.Errorf("over a file: %v", err)
	}
}

// What is too long loses its beginning, and all together is bounded.
func TestBundleIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "b.tar.zst")
	w, err := Create(path, "v1", NewScrubber())
	if err != nil {
		t.Fatal(err)
	}
	long := append(bytes.Repeat([]byte("an early line\n"), maxFile/10), []byte("the last line\n")...)
	for range 2 * maxTotal / maxFile {
		w.Add("log", long)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, f := range w.Manifest().Files {
		if total += f.Bytes; f.Bytes > maxFile || f.Cut == 0 {
			t.Errorf("%+v", f)
		}
	}
	if total > maxTotal {
		t.Errorf("%d bytes", total)
	}
	first := w.Manifest().Files[0]
	if first.Bytes+first.Cut != len(long) || first.Bytes < maxFile-100 {
		t.Errorf("%+v of %d", first, len(long))
	}
}

func TestScrub(t *testing.T) {
	s := NewScrubber("s3cr3t", "s3cr3t-and-more", "abc", "  ")
	for text, want := range map[string]string{
		"x s3cr3t-and-more y s3cr3t":                                                    "x (removed) y (removed)",
		"abc is too short to be one":                                                    "abc is too short to be one",
		"--token skt1.0123abcd.00112233445566778899aabbccddeeff.ff00":                   "--token skt1.0123abcd.(removed).ff00",
		"Authorization: Bearer abcdef.123456":                                           "Authorization: Bearer (removed)",
		"dial http://user:pa55w0rd@proxy:3128: refused":                                 "dial http://user:(removed)proxy:3128: refused",
		"postgres://skerry:pa55w0rd@db:5432/skerry":                                     "postgres://skerry:(removed)db:5432/skerry",
		"got eyJhbGciOiJSUzI1.eyJzdWIiOiIxMjM0.c2lnbmF0dXJl":                            "got (removed)",
		"-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEI\n-----END EC PRIVATE KEY-----\nrest": "-----BEGIN EC PRIVATE KEY-----(removed)\nrest",
		"-----BEGIN PRIVATE KEY-----\nMHcCAQEEI cut":                                    "-----BEGIN PRIVATE KEY-----(removed)",
		`password="hunter2222"`:                                                         `password="(removed)"`,
		"    client-key-data: LS0tLS1C":                                                 "    client-key-data: (removed)",
		"make a token: skerry token create; token-file: /etc/skerry/t":                  "make a token: skerry token create; token-file: /etc/skerry/t",
	} {
		if got := string(s.Scrub([]byte(text))); got != want {
			t.Errorf("%q\n got %q\nwant %q", text, got, want)
		}
	}
}

func TestList(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "key"), []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := List(dir)
	if err != nil || !strings.Contains(string(list), "-rw-------") || !strings.Contains(string(list), dir+"/key") ||
		strings.Contains(string(list), "content") {
		t.Errorf("%s %v", list, err)
	}
	if _, err := List(filepath.Join(dir, "nosuch")); err == nil {
		t.Error("a directory that is not there was listed")
	}
}
