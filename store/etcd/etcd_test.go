package etcd

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"skerry.dev/skerry/store"
)

func TestEndpoints(t *testing.T) {
	for text, want := range map[string]address{
		"https://a:2379":                    {members: []string{"https://a:2379"}, prefix: "/skerry"},
		"https://a:2379, https://b:1/x/y/":  {members: []string{"https://a:2379", "https://b:1"}, prefix: "/x/y"},
		"https://u:p@a:2379":                {members: []string{"https://a:2379"}, prefix: "/skerry", user: "u", password: "p"},
		"http://127.0.0.1:1,http://[::1]:2": {members: []string{"http://127.0.0.1:1", "http://[::1]:2"}, prefix: "/skerry", plain: true},
		"http://localhost:2379/center-a":    {members: []string{"http://localhost:2379"}, prefix: "/center-a", plain: true},
	} {
		got, err := parse(text)
		if err != nil || !slices.Equal(got.members, want.members) || got.prefix != want.prefix || got.user != want.user ||
			got.password != want.password || got.plain != want.plain {
			t.Errorf("%s is %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "https://a", "https://a:1,", "https://a:1/x,https://b:1", "https://:1", "ftp://a:1",
		"https://a:1?x=y", "https://a:1#x", "https://u:secret@a:port"} {
		if a, err := parse(text); !errors.Is(err, ErrEndpoint) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s is %+v, %v", text, a, err)
		}
	}
	if _, err := parse("http://192.0.2.1:2379"); err == nil || !strings.Contains(err.Error(), "write https://") {
		t.Errorf("without TLS: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("https://u:p@a:2379,https://b:1/x")
	f.Fuzz(func(t *testing.T, text string) {
		if a, err := parse(text); err == nil && (len(a.members) == 0 || !strings.HasPrefix(a.prefix, "/") ||
			strings.HasSuffix(a.prefix, "/")) {
			t.Errorf("%q is %+v", text, a)
		}
	})
}

func TestVersions(t *testing.T) {
	for version, want := range map[string]bool{"3.4.23": false, "3.4.30": false, "3.4.31": true, "3.5.0": false,
		"3.5.12": false, "3.5.13": true, "3.6.13": true, "4.0.0": true, "3.5": false, "": false, "new": false} {
		if accepted(version) != want {
			t.Errorf("%q is accepted: %v", version, !want)
		}
	}
}

func TestEras(t *testing.T) {
	eras := store.Eras{{Era: 1, From: 0}, {Era: 1<<64 - 1, From: 1 << 40}}
	got, err := decodeEras(encodeEras(eras))
	if err != nil || !slices.Equal(got, eras) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range [][]byte{{1}, make([]byte, eraBytes+1), make([]byte, (maxEras+1)*eraBytes)} {
		if got, err := decodeEras(bad); err == nil {
			t.Errorf("%d bytes are %d eras", len(bad), len(got))
		}
	}
}

func FuzzDecodeEras(f *testing.F) {
	f.Add(encodeEras(store.Eras{{Era: 7, From: 9}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		if eras, err := decodeEras(data); err == nil && string(encodeEras(eras)) != string(data) {
			t.Errorf("%x is %v", data, eras)
		}
	})
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, f := range map[string]Files{"go together": {Cert: empty}, "--datastore-ca-file: open": {CA: filepath.Join(dir, "none")},
		"no certificate is in it": {CA: empty}, "--datastore-cert-file " + empty: {Cert: empty, Key: empty}} {
		if _, err := f.config(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", f, err)
		}
	}
	if c, err := (Files{}).config(); err != nil || c.RootCAs != nil || c.GetClientCertificate != nil {
		t.Errorf("no files: %v, %v", c, err)
	}
}
