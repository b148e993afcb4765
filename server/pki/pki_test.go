package pki

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func load(t *testing.T) (*PKI, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "pki")
	p, err := Load(Options{Dir: dir, New: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return p, dir
}

func reload(dir string) (*PKI, error) {
	return Load(Options{Dir: dir, Log: slog.New(slog.DiscardHandler)})
}

func TestLoadIsStableAndPrivate(t *testing.T) {
	p, dir := load(t)
	again, err := reload(dir)
	if err != nil {
		t.Fatal(err)
	}
	if p.Pin() != again.Pin() || p.ResetKey() != again.ResetKey() || !p.AgentCAs().Equal(again.AgentCAs()) {
		t.Error("the second Load has other keys")
	}
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		info, ierr := d.Info()
		if want := map[bool]os.FileMode{true: 0o700, false: 0o600}[d.IsDir()]; err != nil || ierr != nil ||
			info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v, %v", path, info.Mode(), err, ierr)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Any file that is missing or damaged is refused by name, and so is a missing directory of a center
// that has data; nothing is made anew.
func TestDamageIsRefused(t *testing.T) {
	_, other := load(t)
	files, err := filepath.Glob(filepath.Join(other, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	top, err := filepath.Glob(filepath.Join(other, "*.*"))
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, top...)
	if len(files) != 9 {
		t.Fatalf("files: %v", files)
	}
	for _, foreign := range files {
		file, err := filepath.Rel(other, foreign)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(foreign)
		if err != nil {
			t.Fatal(err)
		}
		damage := map[string]func(string) error{
			"missing": os.Remove,
			"empty":   func(path string) error { return os.WriteFile(path, nil, 0o600) },
			"cut":     func(path string) error { return os.Truncate(path, int64(len(text)/2)) },
		}
		if strings.HasPrefix(file, "ca-") {
			damage["another center's"] = func(path string) error { return os.WriteFile(path, text, 0o600) }
		}
		for how, do := range damage {
			_, dir := load(t)
			if err := do(filepath.Join(dir, file)); err != nil {
				t.Fatal(err)
			}
			before := contents(t, dir)
			_, err := reload(dir)
			if !errors.Is(err, ErrDamaged) ||
				!strings.Contains(
					err.Error(),
					strings.TrimSuffix(strings.TrimSuffix(filepath.Join(dir, file), ".key"), ".crt"),
				) {
				t.Errorf("%s %s: %v", file, how, err)
			}
			if !maps.Equal(contents(t, dir), before) {
				t.Errorf("%s %s: the directory was changed", file, how)
			}
		}
	}
	if _, err := reload(filepath.Join(t.TempDir(), "pki")); !errors.Is(err, ErrDamaged) {
		t.Errorf("without the directory: %v", err)
	}
}

func contents(t *testing.T, dir string) map[string]string {
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			data, rerr := os.ReadFile(path)
			out[path], err = string(data), rerr
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestKindsOfCertificatesDoNotMix(t *testing.T) {
	p, _ := load(t)
	cert, _, err := p.ClientCertificate("alice", "team")
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(cert)
	alice, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	servers := x509.NewCertPool()
	servers.AppendCertsFromPEM(p.Bundle())
	for roots, want := range map[*x509.CertPool]bool{p.ClientCAs(): true, p.AgentCAs(): false, servers: false} {
		_, err := alice.Verify(
			x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}},
		)
		if (err == nil) != want {
			t.Errorf("a person's certificate, accepted %t: %v", !want, err)
		}
	}
}
