package keyfile

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func material(t testing.TB) (certificate, request, key []byte) {
	t.Helper()
	k, err := MakeKey(filepath.Join(t.TempDir(), "k"))
	must(t, err)
	key, err = EncodeKey(k)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, k.Public(), k)
	must(t, err)
	cert, err := x509.ParseCertificate(der)
	must(t, err)
	der, err = x509.CreateCertificateRequest(
		rand.Reader,
		&x509.CertificateRequest{Subject: pkix.Name{CommonName: "a"}},
		k,
	)
	must(t, err)
	return EncodeCertificates(cert), EncodeRequest(der), key
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOnlyOneFormIsRead(t *testing.T) {
	certificate, request, key := material(t)
	read := map[string]func([]byte) error{
		"certificates": func(b []byte) error { _, err := Certificates(b); return err },
		"request":      func(b []byte) error { _, err := Request(b); return err },
		"key":          func(b []byte) error { _, err := Key(b); return err },
	}
	good := map[string][]byte{"certificates": certificate, "request": request, "key": key}
	for kind, decode := range read {
		for of, data := range good {
			if err := decode(data); (err == nil) != (of == kind) {
				t.Errorf("%s read as %s: %v", of, kind, err)
			}
		}
		for name, data := range map[string][]byte{"nothing": nil, "cut": good[kind][:len(good[kind])/2],
			"rest":             append(bytes.Clone(good[kind]), "x"...),
			"another after it": append(bytes.Clone(good[kind]), good["key"]...), "long": bytes.Repeat(good[kind], 1000)} {
			if decode(data) == nil {
				t.Errorf("%s: %s was read", kind, name)
			}
		}
	}
	if certs, err := Certificates(bytes.Repeat(certificate, 3)); err != nil ||
		!bytes.Equal(EncodeCertificates(certs...), bytes.Repeat(certificate, 3)) {
		t.Errorf("a bundle of 3: %d, %v", len(certs), err)
	}
}

func TestReplaceLeavesNothingElse(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, text := range []string{"one", "two"} {
		must(t, Replace(path, []byte(text)))
		got, err := os.ReadFile(path)
		must(t, err)
		info, err := os.Stat(path)
		must(t, err)
		if string(got) != text || info.Mode().Perm() != 0o600 {
			t.Errorf("%q with mode %v", got, info.Mode())
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
}

func TestProtectTightens(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keys")
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "open"), nil, 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "shut"), nil, 0o400))
	var log strings.Builder
	must(t, Protect(slog.New(slog.NewTextHandler(&log, nil)), dir, filepath.Join(dir, "missing")))
	for name, want := range map[string]os.FileMode{"": 0o700, "open": 0o600, "shut": 0o400} {
		info, err := os.Stat(filepath.Join(dir, name))
		must(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%q has mode %v, want %v", name, info.Mode().Perm(), want)
		}
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 2 {
		t.Errorf("%d warnings, want 2: %s", n, log.String())
	}
}

func FuzzCertificates(f *testing.F) {
	certificate, request, _ := material(f)
	f.Add(certificate)
	f.Add(append(bytes.Clone(certificate), certificate...))
	f.Add(request)
	f.Fuzz(func(t *testing.T, data []byte) {
		certs, err := Certificates(data)
		if err != nil {
			return
		}
		again, err := Certificates(EncodeCertificates(certs...))
		if err != nil || len(again) != len(certs) || len(certs) > MaxCertificates {
			t.Errorf("%d certificates, read again: %d, %v", len(certs), len(again), err)
		}
	})
}

func FuzzRequest(f *testing.F) {
	certificate, request, _ := material(f)
	f.Add(request)
	f.Add(certificate)
	f.Fuzz(func(t *testing.T, data []byte) {
		req, err := Request(data)
		if err == nil && (len(data) > MaxRequestBytes || len(req.Raw) == 0) {
			t.Errorf("read a request of %d bytes", len(data))
		}
	})
}
