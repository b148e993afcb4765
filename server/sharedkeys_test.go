package server

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"skerry.dev/skerry/server/pki"
)

// values is a datastore of replicas.
type values map[string][]byte

func (v values) Keep(_ context.Context, name string, value []byte) ([]byte, error) {
	if v[name] == nil {
		v[name] = value
	}
	return v[name], nil
}

func (v values) Replace(_ context.Context, name string, value []byte) error {
	v[name] = value
	return nil
}

func (v values) Kept(_ context.Context, name string) ([]byte, error) { return v[name], nil }

// Replicas have the same keys through a rotation; nothing of them is readable in the datastore, nor without the secret.
func TestReplicasShareTheirKeys(t *testing.T) {
	log, there := slog.New(slog.DiscardHandler), values{}
	secret := filepath.Join(t.TempDir(), "secret")
	fatal := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	fatal(os.WriteFile(secret, []byte("0123456789012345678901234567890123456789\n"), 0o600))
	replica := func(secret string) (*sharedKeys, *pki.PKI, error) {
		k, err := newSharedKeys(there, filepath.Join(t.TempDir(), "pki"), secret, log)
		if err != nil {
			return nil, nil, err
		}
		keys, err := k.load(t.Context(), pki.Options{Dir: k.dir, Log: log})
		return k, keys, err
	}
	a, keysA, err := replica(secret)
	fatal(err)
	b, keysB, err := replica(secret)
	fatal(err)
	if keysA.Pin() != keysB.Pin() || keysA.ResetKey() != keysB.ResetKey() {
		t.Fatal("two replicas have different keys")
	}
	other := filepath.Join(t.TempDir(), "other")
	fatal(os.WriteFile(other, []byte("another secret, which is just as long as the first"), 0o600))
	if _, _, err := replica(other); !errors.Is(err, ErrSecret) {
		t.Errorf("with another secret: %v", err)
	}
	fatal(os.WriteFile(other, []byte("short"), 0o600))
	if _, _, err := replica(other); err == nil {
		t.Error("a secret of 5 bytes is taken")
	}
	changed := 0
	same := func() {
		t.Helper()
		fatal(a.give(t.Context()))
		fatal(b.refresh(t.Context(), keysB, func() { changed++ }))
		if string(keysA.Bundle()) != string(keysB.Bundle()) || keysA.Pin() != keysB.Pin() {
			t.Errorf("the bundles differ after %+v", keysA.Authorities().Phase)
		}
	}
	same()
	if changed != 0 {
		t.Error("nothing changed, and it was said")
	}
	for _, step := range []func() error{keysA.Announce, keysA.Switch, keysA.Retire} {
		fatal(step())
		same()
	}
	if changed != 3 {
		t.Errorf("%d changes were said", changed)
	}
	entries, _ := os.ReadDir(b.dir)
	if mine, _ := os.ReadDir(a.dir); len(mine) != len(entries) {
		t.Errorf("%d and %d files: what was retired is left", len(mine), len(entries))
	}
}
